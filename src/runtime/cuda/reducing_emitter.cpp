#include "runtime/cuda/reducing_emitter.hpp"

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

constexpr int kTilesOfASum = 32;  // that a partial value takes before it is joined with others: the error of a sum grows slowly

std::string number(int value) { return std::to_string(value); }

/// Words of 32 bits, whatever the accumulator is.
constexpr const char* kShuffle = R"(template <class A> DAMO_FUNCTION A exchanged(const A& value, int mask) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
template <class A> DAMO_FUNCTION A of_lane(const A& value, int lane) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_sync(0xffffffffu, words[i], lane);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
)";

}  // namespace

CudaReducingEmitter::CudaReducingEmitter(const KernelSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), steps_(spec), passes_(spec, [&layout](int, const Passes&) { return layout.whole; }),
      block_(reducing_block(layout)), vector_(reducing_vector(spec, layout)) {}

std::string CudaReducingEmitter::stored(int i) const { return storage_type(spec_.parameter_dtype(i)); }
std::string CudaReducingEmitter::loaded(int i) const { return value_type(spec_.parameter_dtype(i)); }

/// Neighbouring threads of the second kernel read neighbours.
std::string CudaReducingEmitter::partial(const std::string& chunk) const {
  return "static_cast<Partial*>(a.scratch)[" + (rows() ? "row * a.chunks + " + chunk : chunk + " * a.n + row") + "]";
}

std::string CudaReducingEmitter::emit() {
  text_ = cuda_head(layout_.in_place) + kShuffle;
  line(std::string("typedef ") + (layout_.wide ? "i64" : "i32") + " place;");
  text_ += argument_struct(spec_, layout_) + steps_.functions();
  if (layout_.chunked) {
    line("struct Partial {");
    for (int join : passes_.all()[0].joins) line("  alignas(8) Joined" + number(join) + " j" + number(join) + ";");
    line("};");
  }
  emit_offset_functions();
  emit_main();
  if (layout_.chunked) emit_finish();
  return std::move(text_);
}

/// along3(a, p): how far place p of a row lies from its beginning in array 3.
void CudaReducingEmitter::emit_offset_functions() {
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (!moves(i)) continue;
    const std::string r = "a.r" + number(i);
    line("DAMO_FUNCTION place along" + number(i) + "(const Arguments& a, place p) {");
    std::string sum;
    for (int axis = layout_.reduced_rank - 1; axis >= 0; --axis) {
      const std::string n = number(axis), extent = "place(a.reduced[" + n + "])";
      const bool unit = axis == layout_.reduced_rank - 1 && rows() && access(i) == Access::kRow;
      if (axis > 0) line("  const place q" + n + " = p / " + extent + ";");
      const std::string c = axis > 0 ? "(p - q" + n + " * " + extent + ")" : "p";
      sum += (sum.empty() ? "" : " + ") + (unit ? c : c + " * place(" + r + "[" + n + "])");
      if (axis > 0) {
        line("  const place part" + n + " = " + sum + "; p = q" + n + ";");
        sum = "part" + n;
      }
    }
    line("  return " + sum + ";\n}");
  }
}

void CudaReducingEmitter::begin(const std::string& name) {
  const std::string lanes = number(layout_.lanes), slots = number(block_ / layout_.lanes);
  line("extern \"C\" __global__ void __launch_bounds__(" + number(block_) + ") " + name + "(const __grid_constant__ Arguments a) {");
  line("  const int t = threadIdx.x, lane = t " + (rows() ? "% " + lanes : "/ " + slots) + ", slot = t " + (rows() ? "/ " + lanes : "% " + slots) + ";");
  line("  const i64 own = i64(blockIdx.x) * " + slots + " + slot, row = own < a.n ? own : a.n - 1;");
  if (!spec_.numbers.empty()) line("  const Numbers& numbers = a.numbers;");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_scalar(access(i))) line("  const " + loaded(i) + " v" + number(i) + " = " + loaded(i) + "(a.p" + number(i) + "[0]);");
  }
}

/// r0, r1, ...: where the row begins in each array, and the inputs that it has one element of.
void CudaReducingEmitter::emit_row_start() {
  line("  place rest = place(row);");
  for (int axis = layout_.rank - 1; axis >= 0; --axis) {
    const std::string n = number(axis), extent = "place(a.kept[" + n + "])";
    line("  const place c" + n + " = " + (axis > 0 ? "rest % " + extent + "; rest /= " + extent + ";" : "rest;"));
  }
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar(access(i)) && !spec_.is_output(i)) continue;
    const std::string n = number(i);
    std::string sum = "a.p" + n;
    if (!is_scalar(access(i))) {
      for (int axis = 0; axis < layout_.rank; ++axis) sum += " + c" + number(axis) + " * place(a.k" + n + "[" + number(axis) + "])";
    }
    line(std::string("  ") + (spec_.is_output(i) ? "" : "const ") + stored(i) + "* const r" + n + " = " + sum + ";");
    if (!spec_.is_output(i) && !passes_.is_element(i)) line("  const " + loaded(i) + " v" + n + " = " + loaded(i) + "(r" + n + "[0]);");
  }
}

/// The vector at `at` into x[u]; only elements before `end` are read.
void CudaReducingEmitter::emit_load(int i) {
  const std::string n = number(i), x = "x" + n + "[u]", width = number(vector_);
  if (!moves(i)) {
    line("      for (int k = 0; k < " + width + "; ++k) " + x + ".e[k] = r" + n + "[0];");
    return;
  }
  const std::string element = "if (at + k < end) " + x + ".e[k] = r" + n + "[along" + n + "(a, at + k)];";
  if (!rows() || vector_ == 1 || access(i) != Access::kRow) {
    line("#pragma unroll\n      for (int k = 0; k < " + width + "; ++k) " + element);
    return;
  }
  line("      if (a.fast) {\n        " + x + " = load<" + width + ">(r" + n + " + along" + n + "(a, at));\n      } else {");
  line("#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) " + element + "\n      }");
}

/// What a pass does with the vector at `at`: `u` numbers the thread's vectors.
void CudaReducingEmitter::emit_vector(const Passes::Pass& pass) {
  const std::string width = number(vector_);
  const auto names = [](int value) { return local_name(value); };
  for (int output : pass.stores) line("      Vec<" + stored(spec_.input_count() + output) + ", " + width + "> y" + number(output) + ";");
  line("#pragma unroll\n      for (int k = 0; k < " + width + "; ++k) if (at + k < end) {");
  for (int input : pass.inputs) {
    if (is_read(input)) line("        const " + loaded(input) + " v" + number(input) + " = " + loaded(input) + "(x" + number(input) + "[u].e[k]);");
  }
  for (int value : pass.kept) line("        const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = keep" + number(value) + "[u][k];");
  for (int value : pass.steps) {
    const std::string text = spec_.step_of(value).is_place ? "i64(at) + k" : steps_.call(value, names);
    line("        const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + text + ";");
  }
  for (int value : pass.keeps) line("        keep" + number(value) + "[u][k] = v" + number(value) + ";");
  for (int join : pass.joins) {
    const std::string n = number(join);
    line("        m" + n + "[k] = reduce" + n + "(m" + n + "[k], " + steps_.call(join, names) + ");");
  }
  for (int output : pass.stores) line("        y" + number(output) + ".e[k] = " + steps_.stored(output, names) + ";");
  line("      }");
  for (int output : pass.stores) {
    const int i = spec_.input_count() + output;
    const std::string n = number(i), y = "y" + number(output), at = moves(i) ? "along" + n + "(a, at + k)" : "0";
    const std::string each = "for (int k = 0; k < " + width + "; ++k) if (at + k < end) r" + n + "[" + at + "] = " + y + ".e[k];";
    if (!rows() || vector_ == 1 || access(i) != Access::kRow) {
      line("#pragma unroll\n      " + each);
      continue;
    }
    line("      if (a.fast) {\n        store<" + width + ">(r" + n + " + along" + n + "(a, at), " + y + ");\n      } else {");
    line("#pragma unroll\n        " + each + "\n      }");
  }
}

void CudaReducingEmitter::emit_pass(const Passes::Pass& pass) {
  const std::string items = number(layout_.items), width = number(vector_), step = number(layout_.lanes * vector_);
  const auto fold = [&](const std::string& indent) {
    for (int join : pass.joins) {
      const std::string n = number(join);
      line("#pragma unroll\n" + indent + "for (int k = 0; k < " + width + "; ++k) j" + n + " = reduce" + n + "(j" + n + ", m" + n + "[k]);");
    }
  };
  const auto partials = [&](const std::string& indent) {
    for (int join : pass.joins) {
      const std::string n = number(join);
      line(indent + "Joined" + n + " m" + n + "[" + width + "];\n#pragma unroll\n" + indent + "for (int k = 0; k < " + width + "; ++k) m" + n + "[k] = neutral" + n + "();");
    }
  };
  for (int join : pass.joins) line("  Joined" + number(join) + " j" + number(join) + " = neutral" + number(join) + "();");
  if (layout_.whole) {
    std::vector<int> late;
    for (int input : pass.inputs) {
      if (is_read(input) && passes_.is_read_late(input)) late.push_back(input);
    }
    for (int input : late) line("  Vec<" + stored(input) + ", " + width + "> x" + number(input) + "[" + items + "];");
    for (int value : pass.keeps) line("  " + value_type(steps_.dtype(value)) + " keep" + number(value) + "[" + items + "][" + width + "];");
    line("  {");
    partials("    ");
    line("#pragma unroll\n    for (int u = 0; u < " + items + "; ++u) {\n      const place at = begin + (u * " + number(layout_.lanes) + " + lane) * " + width + ";\n      if (at >= end) continue;");
    for (int input : late) emit_load(input);
    emit_vector(pass);
    line("    }");
    fold("    ");
    line("  }");
    return;
  }
  const std::string tile = number(layout_.lanes * vector_ * layout_.items), many = number(layout_.lanes * vector_ * layout_.items * kTilesOfASum);
  line("  for (place tiles = begin; tiles < end; tiles += " + many + ") {");
  line("    const place stop = tiles + " + many + " < end ? tiles + " + many + " : end;");
  partials("    ");
  line("    for (place tile = tiles + lane * " + width + "; tile < stop; tile += " + tile + ") {");
  for (int input : pass.inputs) {
    if (is_read(input)) line("      Vec<" + stored(input) + ", " + width + "> x" + number(input) + "[" + items + "];");
  }
  const auto each = [&](auto emit) {
    line("#pragma unroll\n      for (int u = 0; u < " + items + "; ++u) {\n      const place at = tile + u * " + step + ";\n      if (at >= end) continue;");
    emit();
    line("      }");
  };
  each([&] {
    for (int input : pass.inputs) {
      if (is_read(input)) emit_load(input);
    }
  });
  each([&] { emit_vector(pass); });
  line("    }");
  fold("    ");
  line("  }");
}

/// Joins the lanes' values; every thread of the row then has the same bits.
void CudaReducingEmitter::emit_across(int join) {
  const std::string n = number(join), j = "j" + n, reduce = "reduce" + n, shared = "s" + n;
  const int lanes = layout_.lanes, slots = block_ / lanes;
  if (lanes == 1) return;
  if (!rows()) {
    line("  __shared__ Joined" + n + " " + shared + "[" + number(block_) + "];\n  " + shared + "[t] = " + j + ";\n  __syncthreads();");
    line("#pragma unroll\n  for (int half = " + number(lanes / 2) + "; half > 0; half /= 2) {");
    line("    if (lane < half) " + shared + "[t] = " + reduce + "(" + shared + "[t], " + shared + "[t + half * " + number(slots) + "]);\n    __syncthreads();\n  }");
    line("  " + j + " = " + shared + "[slot];");
    return;
  }
  const int in_warp = lanes < 32 ? lanes : 32, warps = lanes / 32;
  line("#pragma unroll\n  for (int distance = " + number(in_warp / 2) + "; distance > 0; distance /= 2) " + j + " = " + reduce + "(" + j + ", exchanged(" + j + ", distance));");
  if (warps <= 1) {
    line("  " + j + " = of_lane(" + j + ", t & 31 & ~" + number(in_warp - 1) + ");");
    return;
  }
  line("  __shared__ Joined" + n + " " + shared + "[" + number(block_ / 32) + "];\n  if (t % 32 == 0) " + shared + "[t / 32] = " + j + ";\n  __syncthreads();");
  line("  " + j + " = " + shared + "[slot * " + number(warps) + "];");
  line("#pragma unroll\n  for (int w = 1; w < " + number(warps) + "; ++w) " + j + " = " + reduce + "(" + j + ", " + shared + "[slot * " + number(warps) + " + w]);");
}

void CudaReducingEmitter::emit_row_values(const std::vector<int>& joins, const std::vector<int>& steps) {
  const auto emit = [&](int value, const std::string& text) {
    line("  const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + text + ";");
  };
  for (int join : joins) emit(join, "post" + number(join) + "(j" + number(join) + ", a.length)");
  for (int value : steps) emit(value, steps_.call(value, local_name));
}

void CudaReducingEmitter::emit_row_stores() {
  for (int output : passes_.row_stores()) {
    line("  if (lane == 0 && own < a.n) r" + number(spec_.input_count() + output) + "[0] = " + steps_.stored(output, local_name) + ";");
  }
}

void CudaReducingEmitter::emit_whole_loads(const std::vector<int>& inputs) {
  if (inputs.empty()) return;
  for (int i : inputs) line("  Vec<" + stored(i) + ", " + number(vector_) + "> x" + number(i) + "[" + number(layout_.items) + "];");
  line("#pragma unroll\n  for (int u = 0; u < " + number(layout_.items) + "; ++u) {");
  line("      const place at = begin + (u * " + number(layout_.lanes) + " + lane) * " + number(vector_) + ";\n      if (at >= end) continue;");
  for (int i : inputs) emit_load(i);
  line("  }");
}

void CudaReducingEmitter::emit_main() {
  begin(entry_name(spec_));
  line("  const i64 chunk = blockIdx.y;");
  line("  const place begin = place(chunk * a.chunk), to = place(chunk * a.chunk + a.chunk < a.length ? chunk * a.chunk + a.chunk : a.length), end = own < a.n ? to : begin;");
  emit_row_start();
  emit_row_values({}, passes_.first_row_steps());
  if (layout_.whole) {
    std::vector<int> inputs;
    for (int i = 0; i < spec_.input_count(); ++i) {
      if (is_read(i) && !passes_.is_read_late(i)) inputs.push_back(i);
    }
    emit_whole_loads(inputs);
  }
  for (const Passes::Pass& pass : passes_.all()) {
    emit_pass(pass);
    for (int join : pass.joins) emit_across(join);
    if (!layout_.chunked) emit_row_values(pass.joins, pass.row_steps);
  }
  if (layout_.chunked) {
    for (int join : passes_.all()[0].joins) line("  if (lane == 0 && own < a.n) " + partial("chunk") + ".j" + number(join) + " = j" + number(join) + ";");
  } else {
    emit_row_stores();
  }
  line("}");
}

void CudaReducingEmitter::emit_finish() {
  begin(entry_names(spec_, layout_)[1]);
  emit_row_start();
  emit_row_values({}, passes_.first_row_steps());
  const Passes::Pass& pass = passes_.all()[0];
  for (int join : pass.joins) {
    const std::string n = number(join);
    line("  Joined" + n + " j" + n + " = neutral" + n + "();");
    line("  for (i64 k = lane; k < a.chunks && own < a.n; k += " + number(layout_.lanes) + ") j" + n + " = reduce" + n + "(j" + n + ", " + partial("k") + ".j" + n + ");");
    emit_across(join);
  }
  emit_row_values(pass.joins, pass.row_steps);
  emit_row_stores();
  line("}");
}

}  // namespace damo
