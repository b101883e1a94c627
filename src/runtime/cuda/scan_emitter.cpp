#include "runtime/cuda/scan_emitter.hpp"

#include <algorithm>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/scan_schedule.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/cuda/scan_text.hpp"
#include "runtime/cuda/vector_text.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

constexpr int kTilesAhead = 64;  // of 64 KB: of 192 the cache loses some again
constexpr int kMostLevels = 7;  // of 32 tiles each: a ticket has 32 bits
constexpr int kNearGroups = 3;  // of 32 tiles: as many as begin while a group's value takes its two trips through memory, and fewer than 32

}  // namespace

std::string CudaScanEmitter::emit() {
  emit_head();
  text_ += kCudaScan;
  if (layout_.chunked) text_ += kCudaStates;
  if (layout_.chunked) text_ += rows() ? kCudaLookBack : kCudaLookUp;
  if (layout_.staged) text_ += kCudaAhead;
  if (asks_ahead()) emit_ask_ahead();
  emit_begin();
  emit_tile();
  emit_joined();
  for (int join : passes_.all()[0].joins) {
    if (rows()) emit_row_prefix(join);
    else emit_column_prefix(join);
  }
  emit_results();
  line("}");
  emit_users_kernels();
  return std::move(text_);
}

/// ask_ahead(a, ticket): what the block reads that has the ticket, if that is a tile that neither begins nor ends its row. A tile waits for the slowest of all that were asked for
/// before it: the fewer of them still come from memory, the sooner they all have come.
void CudaScanEmitter::emit_ask_ahead() {
  text_ += kCudaAskFor;
  line("DAMO_FUNCTION void ask_ahead(const Arguments& a, u32 ticket) {\n  const i64 tile = ticket / u32(a.n), row = ticket % u32(a.n);");
  line("  if (tile == 0 || (tile + 1) * a.chunk > a.length) return;");
  text_ += coordinates();
  line("  const place from = place(" + std::string(backward_ ? "a.length - (tile + 1) * a.chunk" : "tile * a.chunk") + ");");
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (!is_asked_ahead(i)) continue;
    text_ += row_start(i);
    line("  ask_for(r" + number(i) + " + from, u32(a.chunk * i64(sizeof(" + stored(i) + "))));");
  }
  line("}");
}

bool CudaScanEmitter::asks_ahead() const {
  if (!rows() || !layout_.staged || !layout_.chunked) return false;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_asked_ahead(i)) return true;
  }
  return false;
}

/// Which rows and which tile of them are the block's.
void CudaScanEmitter::emit_begin() {
  const std::string lanes = number(layout_.lanes), slots = number(this->slots()), vector = several() ? number(layout_.vector) : "1";
  begin_kernel(entry_name(spec_), bounds());
  line("  const int t = threadIdx.x, lane = t " + (rows() ? "% " + lanes : "/ " + slots) + ", slot = t " + (rows() ? "/ " + lanes : "% " + slots) + ";");
  if (layout_.chunked) {
    line("  __shared__ u32 ticket;\n  if (t == 0) ticket = atomicAdd(static_cast<u32*>(a.scratch), 1u);\n  __syncthreads();");
    // In 32 bits, which the number of blocks has: before the first load a division of 64 would be waited for.
    if (asks_ahead()) line("  if (t == 32) ask_ahead(a, ticket + " + number(kTilesAhead) + ");");
    line("  const u32 groups = u32((a.n + " + slots + " * " + vector + " - 1) / (" + slots + " * " + vector + "));\n  const i64 tile = ticket / groups, group = ticket % groups;");
  } else {
    line("  const i64 tile = 0, group = blockIdx.x;");
  }
  line("  const i64 own = (group * " + slots + " + slot) * " + vector + ", row = own < a.n ? own : a.n - " + vector + ";");
  if (!spec_.numbers.empty()) line("  const Numbers& numbers = a.numbers;");
  emit_single_values();
  line("  const place begin = 0, end = " + std::string(layout_.ends == Ends::kTiles ? "place(a.length);" : "own < a.n ? place(a.length) : begin;"));
  emit_row_start();
  if (shifts()) emit_shift(parameters());
  const std::string vectors = rows() ? "(lane / " + number(in_warp()) + " * " + number(layout_.items * in_warp()) + " + lane % " + number(in_warp()) + ") * " + number(layout_.vector) : "lane * " + number(layout_.items);
  line("  const place first = place(tile * a.chunk) + " + vectors + (shifts() ? " - place(shift);" : ";"));
  emit_row_values({}, passes_.first_row_steps());
  if (passes_.row_stores().empty()) return;
  line("  if (tile == 0) {");
  emit_row_stores();
  line("  }");
}

/// The thread's elements into registers, or on their way to its slots in shared memory.
void CudaScanEmitter::emit_tile() {
  std::vector<int> inputs;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_read(i)) inputs.push_back(i);
  }
  emit_bases(parameters(), "first");
  if (layout_.staged) {
    emit_staging(inputs);
    return;
  }
  for (int i : inputs) {
    const std::string nothing = layout_.ends == Ends::kTiles ? ";" : " = {};";
    line("  Vec<" + stored(i) + ", " + number(layout_.vector) + "> x" + number(i) + "[" + number(layout_.items) + "]" + nothing);
  }
  emit_loads(inputs, "first + u * " + number(step()));
}

/// qN: where the thread's own slots for an input begin. Nobody else reads them, so nobody meets. A slot has its vector as it lies in memory.
void CudaScanEmitter::emit_staging(const std::vector<int>& inputs) {
  const std::string width = number(layout_.vector), items = number(layout_.items);
  line("  extern __shared__ __align__(128) unsigned char held[];");
  std::int64_t from = 0;
  std::vector<int> staged;
  for (int i : inputs) {
    if (spec_.is_ordinals(i)) continue;
    staged.push_back(i);
    const std::string type = "Vec<" + stored(i) + ", " + width + ">";
    line("  " + type + "* const q" + number(i) + " = reinterpret_cast<" + type + "*>(held + " + std::to_string(from) + ") + t;");
    from += std::int64_t{block_} * layout_.items * layout_.vector * spec_.element_bytes(i);
  }
  const auto fetch = [&](int i) {
    const std::string n = number(i), slot = "q" + n + "[u * " + number(block_) + "]", type = "Vec<" + stored(i) + ", " + width + ">";
    const std::string vector = "fetch<int(sizeof(" + type + "))>(&" + slot + ", " + address(i, false) + (turns() ? " - " + number(layout_.vector - 1) : "") + ");";
    const std::string element = slot + ".e[" + (turns() ? number(layout_.vector - 1) + " - k" : "k") + "]", each = "#pragma unroll\n        for (int k = 0; k < " + width + "; ++k) ";
    const std::string elements = each + "fetch<int(sizeof(" + stored(i) + "))>(&" + element + ", " + address(i, true) + ");";
    if (!rows() || layout_.ends != Ends::kAnywhere) {
      line(is_together(i) ? "        " + vector : elements);
      return;
    }
    line("        if (at >= begin && at + " + width + " <= end) {\n" + (is_together(i) ? "        if (whole" + n + ") " + vector + " else {\n" + elements + "\n        }" : elements) + "\n        } else {\n        " + slot + " = {};");
    line(each + "if (at + k >= begin && at + k < end) " + element + " = *(" + address(i, true) + ");\n        }");
  };
  line("#pragma unroll\n      for (int u = 0; u < " + items + "; ++u) {\n        const place at = first + u * " + number(step()) + ";");
  if (layout_.ends != Ends::kTiles) {
    line("        if (at >= end) {");
    for (int i : staged) line("          q" + number(i) + "[u * " + number(block_) + "] = {};");
    line("          continue;\n        }");
  }
  for (int i : staged) fetch(i);
  line("      }");
  line("  fetched();\n  await<0>();");
}

/// What a pass makes of element k of vector u.
void CudaScanEmitter::emit_elements(const Passes::Pass& pass) {
  for (int value : pass.kept) line("      const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = keep" + number(value) + "[u][k];");
  for (int join : pass.prefixes) emit_value(join);
  emit_steps(pass.steps);
  for (int value : pass.keeps) line("      keep" + number(value) + "[u][k] = v" + number(value) + ";");
  for (int output : pass.stores) line("      y" + number(output) + ".e[k] = " + steps_.stored(output, [this](int value) { return name(value); }) + ";");
}

void CudaScanEmitter::emit_steps(const std::vector<int>& steps) {
  const std::string at = rows() ? "i64(at + k)" : "i64(at)";
  for (int value : steps) {
    const std::string text = !spec_.step_of(value).is_place ? call(value) : backward_ ? "a.length - 1 - " + at : at;
    line("      const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = " + text + ";");
  }
}

void CudaScanEmitter::emit_stores(const Passes::Pass& pass) {
  if (pass.stores.empty()) return;
  if (layout_.ends != Ends::kTiles) line("    if (at < end) {");
  for (int output : pass.stores) emit_store(output);
  if (layout_.ends != Ends::kTiles) line("    }");
}

/// mN: what the thread's elements give up to each of them; of staged inputs up to each vector's last one, lN, or each column's.
void CudaScanEmitter::emit_joined() {
  const Passes::Pass& pass = passes_.all()[0];
  const std::string items = number(layout_.items), width = number(layout_.vector);
  emit_divisors(pass);
  for (int value : pass.keeps) line("  " + value_type(steps_.dtype(value)) + " keep" + number(value) + "[" + items + "][" + width + "];");
  for (int join : pass.joins) {
    const std::string n = number(join), type = "  Joined" + n + " ";
    if (!layout_.staged) line(type + "m" + n + "[" + items + "][" + width + "];");
    else line(type + (rows() ? "l" + n + "[" + items + "];" : "m" + n + "[" + width + "];"));
  }
  begin_vector(pass, pass.inputs);
  emit_inputs(pass.inputs);
  emit_elements(pass);
  for (int join : pass.joins) emit_join(join);
  line("    }");
  for (int join : pass.joins) {
    if (layout_.staged && rows()) line("    l" + number(join) + "[u] = m" + number(join) + "[" + number(layout_.vector - 1) + "];");
  }
  emit_stores(pass);
  line("  }");
}

/// The loops over the thread's vectors, u at `at`, and over the elements of each. Staged inputs come from their slots.
void CudaScanEmitter::begin_vector(const Passes::Pass& pass, const std::vector<int>& inputs) {
  const std::string width = number(layout_.vector);
  // Of staged columns nothing but a slot's place depends on u: unrolled as a whole they would only take more registers.
  const std::string unroll = layout_.staged && !rows() ? "#pragma unroll 4" : "#pragma unroll";
  line(unroll + "\n  for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n    const place at = first + u * " + number(step()) + ";");
  for (int output : pass.stores) line("    Vec<" + stored(spec_.input_count() + output) + ", " + width + "> y" + number(output) + ";");
  for (int i : inputs) {
    if (!layout_.staged || !is_read(i)) continue;
    const std::string n = number(i), type = "Vec<" + stored(i) + ", " + width + "> x" + n;
    const std::string slot = "q" + n + "[u * " + number(block_) + "]";
    if (spec_.is_ordinals(i)) line("    " + type + ";\n#pragma unroll\n    for (int k = 0; k < " + width + "; ++k) x" + n + ".e[k] = " + neighbour(i) + ";");
    else line("    const " + type + " = " + (turns() ? "turned(" + slot + ")" : slot) + ";");
  }
  if (layout_.staged && rows()) {
    // Where nothing is asked ptxas would read all slots ahead, into registers that it has not.
    if (layout_.items > 4 && layout_.ends == Ends::kTiles) line("    if (u > 0 && u % 2 == 0) __syncwarp();");
    for (int join : passes_.all()[0].joins) line("    Joined" + number(join) + " m" + number(join) + "[" + width + "];");
  }
  line("#pragma unroll\n    for (int k = 0; k < " + width + "; ++k) {");
}

void CudaScanEmitter::emit_inputs(const std::vector<int>& inputs) {
  for (int input : inputs) {
    if (is_read(input)) line("      const " + loaded(input) + " v" + number(input) + " = " + loaded(input) + "(x" + number(input) + (layout_.staged ? "" : "[u]") + ".e[k]);");
  }
}

/// eN[u] and hasN[u]: what stands before vector u, and whether something does.
void CudaScanEmitter::emit_row_prefix(int join) {
  const std::string n = number(join), type = "Joined" + n, reduce = "reduce" + n, items = number(layout_.items);
  const int warps = this->warps();
  emit_warp_prefixes(join, all_joined(join, "u"));
  if (warps == 1 && !layout_.chunked) return;
  line("  " + type + " before" + n + " = w" + n + ", all" + n + " = w" + n + ";");
  if (warps > 1) {
    line("  __shared__ " + type + " s" + n + "[" + number(block_ / 32) + "];\n  if (t % 32 == 0) s" + n + "[t / 32] = w" + n + ";\n  __syncthreads();");
    line("  all" + n + " = s" + n + "[slot * " + number(warps) + "];");
    line("#pragma unroll\n  for (int w = 1; w < " + number(warps) + "; ++w) {\n    if (w == lane / 32) before" + n + " = all" + n + ";");
    line("    all" + n + " = " + reduce + "(all" + n + ", s" + n + "[slot * " + number(warps) + " + w]);\n  }");
  }
  std::string has = "lane >= 32";
  if (layout_.chunked) {
    emit_states(join);
    line("  __shared__ " + type + " parts" + n + "[" + number(kNearGroups + kMostLevels) + "];");
    line("  const " + type + " g" + n + " = look_back<" + number(kNearGroups) + ">(states" + n + " + row * a.tile * " + number(state_words(*spec_.step_of(join).join, true)) + ", u32(a.chunks), u32(tile), all" + n + ", parts" + n + ", [](" + type + " a, " + type + " b) { return " + reduce + "(a, b); });");
    line("  if (tile > 0) before" + n + " = lane >= 32 ? " + reduce + "(g" + n + ", before" + n + ") : g" + n + ";");
    has = "tile > 0 || lane >= 32";
  }
  line("#pragma unroll\n  for (int u = 0; u < " + items + "; ++u) {\n    if (!(" + has + ")) continue;");
  line("    e" + n + "[u] = has" + n + "[u] ? " + reduce + "(before" + n + ", e" + n + "[u]) : before" + n + ";\n    has" + n + "[u] = true;\n  }");
}

/// eN[k] and hasN: what stands before the thread's elements of its k-th column. Lanes have what follows each other: those of a warp hand on by
/// shuffles, warps, or lanes of more than a warp, by shared memory.
void CudaScanEmitter::emit_column_prefix(int join) {
  const std::string n = number(join), type = "Joined" + n, reduce = "reduce" + n, width = number(layout_.vector), s = "s" + n, e = "e" + n, all = "all" + n, before = "before" + n;
  const int in_warp = std::max(32 / this->slots(), 1), groups = layout_.lanes / in_warp;
  const std::string slots = number(this->slots()), columns = number(this->slots() * layout_.vector), group = in_warp > 1 ? "lane / " + number(in_warp) : "lane";
  const auto each = [&](const std::string& indent, const std::string& text) { line("#pragma unroll\n" + indent + "for (int k = 0; k < " + width + "; ++k) " + text); };
  line("  " + type + " " + e + "[" + width + "];\n  bool has" + n + " = " + (in_warp > 1 ? "t % 32 >= " + slots : "false") + ";");
  each("  ", e + "[k] = " + all_joined(join, "k") + ";");
  if (layout_.lanes == 1) return;
  line("  " + type + " " + all + "[" + width + "];");
  each("  ", all + "[k] = " + e + "[k];");
  if (in_warp > 1) {
    line("#pragma unroll\n  for (int d = " + slots + "; d < 32; d *= 2) {");
    each("    ", "{\n      const " + type + " other = of_lane_before(" + all + "[k], d);\n      if (t % 32 >= d) " + all + "[k] = " + reduce + "(other, " + all + "[k]);\n    }");
    line("  }");
    each("  ", e + "[k] = of_lane_before(" + all + "[k], " + slots + ");");
  }
  line("  __shared__ " + type + " " + s + "[" + number(groups) + " * " + columns + "];\n  if (lane % " + number(in_warp) + " == " + number(in_warp - 1) + ") {");
  each("    ", s + "[" + group + " * " + columns + " + slot * " + width + " + k] = " + all + "[k];");
  line("  }\n  __syncthreads();\n  if (" + group + " > 0) {\n    " + type + " " + before + "[" + width + "];");
  each("    ", before + "[k] = " + s + "[slot * " + width + " + k];");
  line("#pragma unroll\n    for (int g = 1; g < " + number(groups - 1) + "; ++g) {\n      if (g >= " + group + ") continue;");
  each("      ", before + "[k] = " + reduce + "(" + before + "[k], " + s + "[g * " + columns + " + slot * " + width + " + k]);");
  line("    }");
  each("    ", e + "[k] = has" + n + " ? " + reduce + "(" + before + "[k], " + e + "[k]) : " + before + "[k];");
  line("    has" + n + " = true;\n  }");
  if (!layout_.chunked) return;
  emit_states(join);
  const std::string levels = "levels" + n, radix = number(kColumnRadix);
  line("  __shared__ " + type + " " + levels + "[" + number(kMostColumnLevels) + " * " + columns + "];");
  line("  look_up<" + radix + ", " + number(block_) + ", " + columns + ", " + number(groups) + ">(states" + n + ", a.n, group * " + columns + ", u32(a.chunks), u32(tile), " + s + ", " + levels + ", [](" + type + " a, " + type + " b) { return " + reduce + "(a, b); });");
  line("  {\n    " + type + " g[" + width + "];\n    bool has_before = false;\n    u32 at = u32(tile);");
  line("    for (int l = 0; at > 0; ++l, at /= " + radix + ") {\n      if (at % " + radix + " == 0) continue;");
  const std::string of_level = levels + "[l * " + columns + " + slot * " + width + " + k]";
  each("      ", "g[k] = has_before ? " + reduce + "(" + of_level + ", g[k]) : " + of_level + ";");
  line("      has_before = true;\n    }\n    if (tile > 0) {");
  each("      ", e + "[k] = has" + n + " ? " + reduce + "(g[k], " + e + "[k]) : g[k];");
  line("      has" + n + " = true;\n    }\n  }");
}

/// statesN: where this join's states begin, behind the ticket and those of the joins before it.
void CudaScanEmitter::emit_states(int join) {
  int before = 0;
  for (int other : passes_.all()[0].joins) {
    if (other == join) break;
    before += state_words(*spec_.step_of(other).join, rows());
  }
  line("  volatile u64* const states" + number(join) + " = static_cast<volatile u64*>(a.scratch) + " + number(kTicketWords) + " + a.n * a.tile * " + number(before) + ";");
}

/// What a thread's vector u has of a row, or its elements of column k have.
std::string CudaScanEmitter::all_joined(int join, const std::string& which) const {
  const std::string n = number(join);
  if (layout_.staged) return (rows() ? "l" : "m") + n + "[" + which + "]";
  return rows() ? "m" + n + "[" + which + "][" + number(layout_.vector - 1) + "]" : "m" + n + "[" + number(layout_.items - 1) + "][" + which + "]";
}

/// mN[u][k], of staged inputs mN[k]: what the thread's elements up to that one of the vector, of columns of the column, give.
std::string CudaScanEmitter::own_joined(int join) const { return "m" + number(join) + (layout_.staged ? "[k]" : "[u][k]"); }

/// What they give up to the one before, where there is one.
std::string CudaScanEmitter::before_joined(int join) const {
  if (!rows()) return layout_.staged ? "p" + number(join) : "m" + number(join) + "[u > 0 ? u - 1 : 0][k]";
  return "m" + number(join) + (layout_.staged ? "" : "[u]") + "[k > 0 ? k - 1 : 0]";
}

/// The first element of a row joins nothing.
void CudaScanEmitter::emit_join(int join) {
  const auto names = [this](int value) { return name(value); };
  const std::string is_first = !rows() ? "u == 0" : shifts() ? "k == 0 || at + k == begin" : "k == 0";
  if (layout_.staged && !rows()) line("      const Joined" + number(join) + " p" + number(join) + " = m" + number(join) + "[k];");
  line("      " + own_joined(join) + " = " + is_first + " ? " + steps_.call(join, names) + " : " + steps_.appended(join, before_joined(join), names) + ";");
}

/// vN: the value of an element, of mN and eN.
void CudaScanEmitter::emit_value(int join) {
  const Join& how = *spec_.step_of(join).join;
  const int accumulator = spec_.accumulator_of(join);
  const std::string n = number(accumulator), e = rows() ? "e" + n + "[u]" : "e" + n + "[k]", has = rows() ? "has" + n + "[u]" : "has" + n;
  const std::string at = rows() ? "at + k" : "at";
  const auto joined = [&](const std::string& own) { return has + " ? reduce" + n + "(" + e + ", " + own + ") : " + own; };
  std::string value = joined(own_joined(accumulator)), count = "i64(" + at + ") + 1";
  if (how.prefix == Prefix::kExclusive) {
    const std::string is_first = rows() ? "k == 0" : "u == 0";
    const std::string begins = shifts() || !rows() ? at + " <= begin" : "u == 0 && k == 0 && at <= begin";  // of the whole row
    value = begins + " ? neutral" + n + "() : " + is_first + " ? " + e + " : " + joined(before_joined(accumulator));
    count = "i64(" + at + ")";
  }
  line("      const " + value_type(steps_.dtype(join)) + " v" + number(join) + " = " + steps_.post(join, value, count) + ";");
}

/// Elements with what stands before them. Of staged inputs they are joined anew, which takes no registers while others are waited for.
void CudaScanEmitter::emit_results() {
  Passes::Pass pass = passes_.behind_prefixes();
  emit_divisors(pass);
  std::vector<int> inputs = pass.inputs, again;
  if (layout_.staged && !pass.prefixes.empty()) {
    again = passes_.before_joins();
    for (int input : passes_.all()[0].inputs) {
      if (std::find(inputs.begin(), inputs.end(), input) == inputs.end()) inputs.push_back(input);
    }
    std::erase_if(pass.steps, [&](int value) { return std::find(again.begin(), again.end(), value) != again.end(); });
  }
  begin_vector(pass, inputs);
  emit_inputs(inputs);
  emit_steps(again);
  if (layout_.staged && !pass.prefixes.empty()) {
    for (int join : passes_.all()[0].joins) emit_join(join);
  }
  emit_elements(pass);
  line("    }");
  emit_stores(pass);
  line("  }");
}

}  // namespace damo
