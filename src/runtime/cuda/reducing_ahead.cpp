// Of CudaReducingEmitter: blocks, or clusters, that stay and read rows ahead.
#include <algorithm>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// fetch_row(a, row, thread, to): the thread's vectors of a row on their way to its places in a ring, if there is such a row. Arrays that are not aligned are
/// read when their elements are wanted.
void CudaReducingEmitter::emit_fetch_row() {
  const int i = array_ahead_, bytes = layout_.vector * spec_.element_bytes(i);
  const bool anywhere = layout_.ends == Ends::kAnywhere;
  const std::string n = number(i), width = number(layout_.vector), from = "b" + n + " + u * " + number(step()), to = "to + u * " + number(ahead_line());
  line("DAMO_FUNCTION void fetch_row(const Arguments& a, i64 row, int thread, unsigned char* to) {");
  if (!fetches()) {
    line("}");
    return;
  }
  line("  if (row < a.n) {");
  text_ += coordinates() + row_start(i);
  line("  const place begin = 0, end = place(a.length);");
  line("  const place first = place(thread) * " + width + (anywhere && layout_.vector > 1 ? " - place(" + phase(i, first_at(i)) + ");" : ";"));
  emit_bases({i}, "first");
  line("#pragma unroll\n    for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n      const place at = first + u * " + number(step()) + ";");
  if (layout_.ends != Ends::kTiles) line("      if (!(" + inside("", "at < end") + ")) continue;");
  const std::string whole = "fetch<" + number(bytes) + ">(" + to + ", " + from + ");";
  if (anywhere) line("      if (" + inside("at >= begin", "at + " + width + " <= end") + ") " + whole + "\n      else fetch_some<" + width + ">(" + to + ", " + from + ", begin - at, end - at);");
  else line("      " + whole);
  line("    }\n  }\n  fetched();\n}");
}

void CudaReducingEmitter::emit_fetch(const std::string& row) {
  line("  fetch_row(a, " + row + ", thread, ring" + (layout_.ahead > 1 ? " + stage * " + number(ahead_line() * layout_.items) : "") + ");");
}

/// Before the loop over rows: the first ones on their way, and, of a cluster, meetings for which every block is there. Then the loop.
void CudaReducingEmitter::emit_stay() {
  const std::string cluster = number(layout_.cluster), lanes = number(layout_.lanes);
  line("  extern __shared__ __align__(128) unsigned char held[];");
  line("  const int thread = " + part() + " * " + lanes + " + lane;\n  unsigned char* const ring = held + lane * " + number(ahead_line() / layout_.lanes) + ";");
  line("  const i64 clusters = gridDim.x / " + cluster + ";");
  if (layout_.cluster > 1) {
    int many = 0;
    for (const Passes::Pass& pass : passes_.all()) many += pass.joins.empty() ? 0 : 1;
    many -= own_ ? 1 : 0;
    line("  __shared__ u64 meetings[" + number(2 * many) + "];\n  if (t == 0) {\n    for (int m = 0; m < " + number(2 * many) + "; ++m) open_meeting(meetings + m);\n    opened();\n  }");
    line("  __syncthreads();\n  arrive();\n  leave();");
  }
  line("#pragma unroll 1\n  for (int stage = 0; stage < " + number(layout_.ahead) + "; ++stage)");
  emit_fetch("block + stage * clusters");
  line("  u32 turn = 0" + std::string(layout_.ahead > 1 ? ", stage = 0;" : ";"));
  line("  for (i64 own = block; own < a.n; own += clusters, ++turn) {\n  const i64 row = own;");
}

void CudaReducingEmitter::emit_loads_ahead() {
  if (!fetches()) return emit_loads({array_ahead_}, "first + u * " + number(step()));
  const std::string n = number(array_ahead_), type = "Vec<" + stored(array_ahead_) + ", " + number(layout_.vector) + ">";
  line("  await<" + number(layout_.ahead - 1) + ">();");
  line("#pragma unroll\n      for (int u = 0; u < " + number(layout_.items) + "; ++u) x" + n + "[u] = *reinterpret_cast<const " + type + "*>(ring" +
       (layout_.ahead > 1 ? " + stage * " + number(ahead_line() * layout_.items) : "") + " + u * " + number(ahead_line()) + ");");
}

/// The end of the loop over rows. No block leaves while another may send to it.
void CudaReducingEmitter::emit_leave() {
  if (layout_.ahead > 1) line("  stage = stage + 1 == " + number(layout_.ahead) + " ? 0 : stage + 1;");
  const auto meets = std::count_if(passes_.all().begin(), passes_.all().end(), [](const Passes::Pass& pass) { return !pass.joins.empty(); });
  if (meets == 1) line("  __syncthreads();");  // the next row's values come where this one's are read
  line("  }\n  await<0>();");
  if (layout_.cluster > 1) line("  arrive();\n  leave();");
}

/// Joins the values of the cluster's blocks, in their order. What is joined before the blocks' own maxima are one is a sum of exponentials, which comes to the row's maximum on the way.
void CudaReducingEmitter::emit_meeting(int number_of, const std::vector<int>& joins) {
  const std::string blocks = number(layout_.cluster), n = number(number_of), place = "meetings + " + number(2 * number_of) + " + turn % 2", met = "met" + n + "[turn % 2]";
  const std::string maximum = is_own_ ? number(own_->maximum) : "";
  std::string members, values;
  for (int join : joins) members += " Joined" + number(join) + " j" + number(join) + ";", values += (values.empty() ? "j" : ", j") + number(join);
  line("  struct Met" + n + " {" + members + " };\n  __shared__ Words<Met" + n + "> met" + n + "[2][" + blocks + "];");
  line("  if (t == 0) expect(" + place + ", " + blocks + " * u32(sizeof(met" + n + "[0][0].words)));");
  line("  if (t < " + blocks + ") send(" + met + "[part], Met" + n + "{" + values + "}, " + place + ", t);\n  meet(" + place + ", turn / 2 % 2);");
  const auto of_block = [&](const std::string& b, int join) { return "taken(" + met + "[" + b + "]).j" + number(join); };
  const auto later = [&](const std::string& text) { line("#pragma unroll\n  for (int b = 1; b < " + blocks + "; ++b) " + text); };
  if (is_own_) line("  const float mine" + maximum + " = j" + maximum + ";");
  for (int join : joins) {
    const std::string j = "j" + number(join), reduce = "reduce" + number(join);
    const bool is_sum = is_own_ && std::find(passes_.all()[1].joins.begin(), passes_.all()[1].joins.end(), join) != passes_.all()[1].joins.end();
    const auto value = [&](const std::string& b) { return of_block(b, join) + (is_sum ? " * part_of(" + of_block(b, own_->maximum) + ", j" + maximum + ", neutral" + maximum + "())" : ""); };
    line("  " + j + " = " + value("0") + ";");
    later(j + " = " + reduce + "(" + j + ", " + value("b") + ");");
  }
  if (is_own_) line("  const float scale" + maximum + " = part_of(mine" + maximum + ", j" + maximum + ", neutral" + maximum + "());");
}

}  // namespace damo
