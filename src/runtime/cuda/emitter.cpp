#include "runtime/cuda/emitter.hpp"

#include <algorithm>

#include "runtime/cuda/flat_schedule.hpp"
#include "runtime/cuda/flat_text.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/body.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/slice_text.hpp"

namespace damo {

CudaEmitter::CudaEmitter(const KernelSpec& spec, const Layout& layout)
    : spec_(spec), layout_(layout), schedule_(cuda_schedule(spec, layout)), tile_(cuda_tile(spec, layout)), pieces_(interleaved_of(spec, layout)) {
  if (schedule_.part > 0 && layout.tile_axis < 0) parts_.emplace(spec, schedule_.part);
  widened_ = arrays_as_floats();
}

std::string CudaEmitter::stored(int i) const { return stored_type(spec_, i); }
std::string CudaEmitter::loaded(int i) const { return loaded_type(spec_, i); }

/// Which arrays of 16-bit floats are held as floats: inputs, and outputs whose values are floats, of a kernel that moves whole vectors by themselves.
std::vector<bool> CudaEmitter::arrays_as_floats() const {
  std::vector<bool> all(static_cast<std::size_t>(spec_.parameter_count()), false);
  const bool in_blocks = !spec_.loop && layout_.places == 0 && layout_.tile_axis < 0;
  if (!in_blocks || parts_ || !pieces_.empty() || spec_.has_guards() || schedule_.vector % 2 != 0) return all;
  const StepPrinter steps(spec_);
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (!is_half(spec_.parameter_dtype(i))) continue;
    all[static_cast<std::size_t>(i)] = spec_.is_output(i) ? value_type(steps.dtype(spec_.stores[static_cast<std::size_t>(i - spec_.input_count())])) == "float" : !is_scalar(access(i));
  }
  return all;
}

std::string CudaEmitter::emit() {
  const bool tiled = layout_.tile_axis >= 0, turns_places = layout_.places > 0;
  text_ = cuda_head();
  if (turns_places || (!tiled && !layout_.is_flat() && !layout_.wide)) text_ += kCudaDividePlaces;
  text_ += std::string("typedef ") + (layout_.wide ? "i64" : "u32") + " index;\n";
  text_ += std::string("typedef ") + (layout_.wide ? "i64" : "i32") + " offset;\n";
  if (turns_places) text_ += std::string(kCudaAhead) + kCudaFlat;
  else if (layout_.aligned && !pieces_.empty()) text_ += "template <class T> DAMO_FUNCTION T* lower(T* a, T* b) { return a < b ? a : b; }\n";
  else if (tiled) line("DAMO_FUNCTION index at_most(index a, index b) { return a < b ? a : b; }");
  if (std::find(widened_.begin(), widened_.end(), true) != widened_.end()) text_ += kCudaHalves;
  text_ += argument_struct(spec_, layout_) + cuda_guard_functions(spec_) + (parts_ ? parts_->functions() : step_functions(spec_, [this](int output) { return is_widened(spec_.input_count() + output); }));
  if (turns_places) divides_known_ = emit_flat_body();
  if (layout_.joined) text_ += joined_structs();
  line("extern \"C\" __global__ void __launch_bounds__(" + number(turns_places ? 32 * flat_warps(spec_, layout_) : tiled ? tile_.threads
                                                                                                                         : schedule_.block) +
       ") " +
       entry_name(spec_) + "(const __grid_constant__ " + (layout_.joined ? "Joined j" : "Arguments a") + ") {");
  line("  wait_first();");
  if (layout_.joined) {
    line("  const Member& m = j.members[j.member_of[blockIdx.x]];");
    line("  const Arguments a = m.a;");  // a copy that no store can change
    line("  const u32 block = blockIdx.x - u32(m.begin);");
  }
  if (!spec_.numbers.empty()) line("  const Numbers& numbers = a.numbers;");
  if (!spec_.loop) emit_scalars("  ");
  if (spec_.loop) emit_turns();
  else if (turns_places) emit_flat_tile();
  else if (tiled) emit_tile_schedule();
  else emit_block_schedule();
  line("}");
  return std::move(text_);
}

/// Elements that every thread reads once.
void CudaEmitter::emit_scalars(const std::string& indent) {
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (spec_.is_table(i)) line(indent + "const " + loaded(i) + " x" + number(i) + " = " + pointer(i) + "[0];");
    else if (is_scalar_input(i)) line(indent + "const " + loaded(i) + " x" + number(i) + " = a.n > 0 ? " + loaded(i) + "(" + pointer(i) + "[0]) : " + loaded(i) + "(0);");
  }
}

/// Loads, body, stores. A thread whose vectors are whole and aligned moves them whole; one at the end of the array moves its elements one by one. Of arrays that do not allow vectors, as rows of a grid without its
/// edges, it has as many elements a block apart: neighbouring threads then have neighbours, which memory gives together (spreads()). The body stands in the text once for all.
void CudaEmitter::emit_block_schedule() {
  const std::string unroll = number(schedule_.unroll), n = number(schedule_.vector);
  emit_pieces();
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_scalar_input(i) || is_counted(i)) continue;
    line("  Vec<" + held(i) + ", " + n + "> " + (spec_.is_output(i) ? "y" : "x") + number(i) + "[" + unroll + "];");
  }
  for (int axis = 0; keeps_coordinates() && axis < layout_.rank; ++axis) line("  index kept" + number(axis) + "[" + unroll + "];");
  const auto each_vector = [&](auto&& emit) {
    line("#pragma unroll");
    line("  for (u32 u = 0; u < " + unroll + "; ++u) {");
    line("    const index at = ((index(" + block() + ") * " + unroll + " + u) * " + number(schedule_.block) + " + threadIdx.x) * " + n + ";");
    if (spreads()) line("    const index first = a.fast ? at : at - threadIdx.x * " + number(schedule_.vector - 1) + ", apart = a.fast ? 1 : " + number(schedule_.block) + ";");
    emit();
    line("  }");
  };
  each_vector([&] { emit_loads(); });
  if (parts_) emit_parts();
  each_vector([&] {
    if (parts_) return emit_stores();
    line("#pragma unroll");
    line("    for (int k = 0; k < " + n + "; ++k) " + body_call(spec_, [&](int i) {
           if (is_scalar_input(i)) return "x" + number(i);
           if (is_counted(i)) return std::string("i64(at | k)");  // at is a multiple of the vector: so a compiler sees that neighbours share a block of random numbers
           if (spec_.is_output(i)) return "y" + number(i) + "[u].e[k]";
           return loaded(i) + "(x" + number(i) + "[u].e[k])";
         }));
    emit_stores();
  });
}

/// Not where the text counts elements, which are neighbours whatever is moved.
bool CudaEmitter::spreads() const {
  if (schedule_.vector == 1) return false;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_counted(i)) return false;
  }
  return true;
}

/// Each part of the body for all elements of the thread, of which its vectors hold the inputs and then the outputs.
void CudaEmitter::emit_parts() {
  const std::string n = number(schedule_.vector), elements = number(schedule_.vector * schedule_.unroll);
  const std::string at = "[e / " + n + "].e[e % " + n + "]";
  for (const BodyParts::Part& part : parts_->parts()) {
    for (int value : part.leaves) line("  " + parts_->type_of(value) + " " + local_name(value) + "[" + elements + "];");
  }
  for (std::size_t part = 0; part < parts_->parts().size(); ++part) {
    line("#pragma unroll");
    line("  for (u32 e = 0; e < " + elements + "; ++e) " +
         parts_->call(
             part,
             [&](int value) {
               if (value >= spec_.input_count()) return local_name(value) + "[e]";
               return is_scalar_input(value) ? "x" + number(value) : loaded(value) + "(x" + number(value) + at + ")";
             },
             [&](int output) { return "y" + number(spec_.input_count() + output) + at; }));
  }
}

void CudaEmitter::emit_loads() {
  const std::string n = number(schedule_.vector);
  line("    if (a.fast && at + " + n + " <= a.n) {");
  emit_coordinates("      ", "at");
  emit_frames("      ");
  for (int axis = 0; keeps_coordinates() && axis < layout_.rank; ++axis) line("      kept" + number(axis) + "[u] = c" + number(axis) + ";");
  for (int i = 0; i < spec_.input_count(); ++i) {
    const Interleaved* piece = piece_of(i);
    if (piece && piece->parameters[0] == i) emit_piece_load(*piece);
    if (!is_scalar_input(i) && !is_counted(i) && !piece) line("      " + framed(i, vector_load(i)));
  }
  line("    } else {");
  line("#pragma unroll");
  line("      for (int k = 0; k < " + n + "; ++k) {");
  const std::string one = spreads() ? "first + k * apart" : "at + k";
  line("        const index one = " + one + " < a.n ? " + one + " : 0;");
  emit_coordinates("        ", "one");
  emit_frames("        ");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_scalar_input(i) || is_counted(i)) continue;
    line("        x" + number(i) + "[u].e[k] = " + (layout_.frame_of(i) ? inside(i) + " ? " + element(i) + " : a.frame" + number(i) + "[0];" : element(i) + ";"));
  }
  line("      }");
  line("    }");
}

void CudaEmitter::emit_stores() {
  const std::string n = number(schedule_.vector);
  const bool strided = has_strided_outputs();
  line("    if (a.fast && at + " + n + " <= a.n) {");
  for (int axis = 0; keeps_coordinates() && axis < layout_.rank; ++axis) line("      const index c" + number(axis) + " = kept" + number(axis) + "[u];");
  if (strided && !keeps_coordinates()) emit_coordinates("      ", "at");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    const Interleaved* piece = piece_of(i);
    if (piece && piece->parameters[0] == i) emit_piece_store(*piece);
    if (!piece) line("      " + vector_store(i) + look(i, "y" + number(i) + (is_scalar(access(i)) || access(i) == Access::kRepeat ? "[u].e[0]" : "[u]")));
  }
  line("    } else {");
  line("#pragma unroll");
  line("      for (int k = 0; k < " + n + "; ++k) {");
  line("        const index one = " + std::string(spreads() ? "first + k * apart;" : "at + k;"));
  line("        if (one >= a.n) break;");
  if (strided) emit_coordinates("        ", "one");
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) line("        " + element(i) + " = y" + number(i) + "[u].e[k];" + look(i, "y" + number(i) + "[u].e[k]"));
  line("      }");
  line("    }");
}

/// Element `one` of an array, its coordinates being c0, c1, ...
std::string CudaEmitter::element(int i) const {
  switch (access(i)) {
    case Access::kDense: return pointer(i) + "[one]";
    case Access::kScalar: return pointer(i) + "[0]";
    default: return pointer(i) + "[" + slice(i) + offset(i, true) + "]";
  }
}

/// The offset of element (c0, c1, ...) in a strided array; without the last axis: of its row.
std::string CudaEmitter::offset(int i, bool with_last) const {
  std::string sum;
  const int axes = with_last ? layout_.rank : layout_.rank - 1;
  for (int axis = 0; axis < axes; ++axis) {
    const bool last = axis == layout_.rank - 1;
    if (last && access(i) == Access::kRepeat) continue;
    std::string term = std::string("offset(") + (is_framed_along(i, axis) ? "c" + number(axis) + "_" + number(i) : "c" + number(axis)) + ")";
    if (!(last && access(i) == Access::kRow)) term += " * a.s" + number(i) + "[" + number(axis) + "]";
    sum += (sum.empty() ? "" : " + ") + term;
  }
  return sum.empty() ? "0" : sum;
}

/// Of an array that is taken: where the slice at hand lies in it, of which what follows is a place.
std::string CudaEmitter::slice(int i) const { return layout_.is_taken(i) ? slice_offset(i, layout_.rank - 1, "offset") + " + " : ""; }

bool CudaEmitter::has_strided_outputs() const {
  for (int i = spec_.input_count(); i < spec_.parameter_count(); ++i) {
    if (has_strides(access(i))) return true;
  }
  return false;
}

/// c0 ... c(rank-1) of a position in the iteration.
void CudaEmitter::emit_coordinates(const std::string& indent, const std::string& position) {
  if (layout_.is_flat()) return;
  std::string rest = position;
  for (int axis = layout_.rank - 1; axis > 0; --axis) {
    const std::string quotient = "q" + number(axis), at = "[" + number(axis) + "]";
    if (layout_.wide) line(indent + "const index " + quotient + " = " + rest + " / a.extent" + at + ";");
    else line(indent + "const index " + quotient + " = divide(" + rest + ", a.magic" + at + ", a.shift" + at + ");");
    line(indent + "const index c" + number(axis) + " = " + rest + " - " + quotient + " * a.extent" + at + ";");
    rest = quotient;
  }
  line(indent + "const index c0 = " + rest + ";");
}

std::string CudaEmitter::vector_load(int i) const {
  const std::string n = number(schedule_.vector), x = "x" + number(i) + "[u]";
  const auto widened = [&](const std::string& vector) { return is_widened(i) ? "widened(" + vector + ")" : vector; };
  switch (access(i)) {
    case Access::kDense: return x + " = " + widened("load<" + n + ">(" + pointer(i) + " + at)") + ";";
    case Access::kRow:
      if (spec_.is_ordinals(i)) return "for (int k = 0; k < " + n + "; ++k) " + x + ".e[k] = " + pointer(i) + "[" + offset(i, true) + " + k];";
      return x + " = " + widened("load_again<" + n + ">(" + pointer(i) + " + (" + slice(i) + offset(i, true) + "))") + ";";
    case Access::kRepeat: return "{ const " + held(i) + " once = " + pointer(i) + "[" + offset(i, true) + "]; for (int k = 0; k < " + n + "; ++k) " + x + ".e[k] = once; }";
    default:
      return "for (int k = 0; k < " + n + "; ++k) " + x + ".e[k] = " + pointer(i) + "[" + offset(i, true) + " + k * a.s" + number(i) + "[" +
             number(layout_.rank - 1) + "]];";
  }
}

std::string CudaEmitter::vector_store(int i) const {
  const std::string n = number(schedule_.vector), y = "y" + number(i) + "[u]", vector = is_widened(i) ? "narrowed<" + stored(i) + ">(" + y + ")" : y;
  switch (access(i)) {
    case Access::kDense: return "store<" + n + ">(" + pointer(i) + " + at, " + vector + ");";
    case Access::kRow: return "store<" + n + ">(" + pointer(i) + " + (" + offset(i, true) + "), " + vector + ");";
    case Access::kScalar: return pointer(i) + "[0] = " + y + ".e[0];";
    case Access::kRepeat: return pointer(i) + "[" + offset(i, true) + "] = " + y + ".e[0];";
    default:
      return "for (int k = 0; k < " + n + "; ++k) " + pointer(i) + "[" + offset(i, true) + " + k * a.s" + number(i) + "[" +
             number(layout_.rank - 1) + "]] = " + y + ".e[k];";
  }
}

}  // namespace damo
