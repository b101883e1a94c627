// Of CudaReducingEmitter: blocks, or clusters, that stay and read rows, or tiles of rows beside each other, ahead.
#include <algorithm>

#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// Where the thread's vector u of a row lies in the ring: those of each array together, neighbours' beside each other.
std::string CudaReducingEmitter::in_ring(int i, const std::string& stage) const {
  int from = 0, all = 0;
  for (int array : ahead_) {
    if (array == i) from = all;
    all += block_ * layout_.items * layout_.vector * spec_.element_bytes(array);
  }
  const std::string turn = layout_.ahead > 1 ? stage + " * " + number(all) + " + " : "", begin = from > 0 ? number(from) + " + " : "";
  return "held + " + turn + begin + "(u * " + number(block_) + (beside() ? " + t) * " : " + lane) * ") + number(layout_.vector * spec_.element_bytes(i));
}

/// Where the thread's vector u of what rows share lies, behind the ring.
std::string CudaReducingEmitter::in_shared(int i) const {
  std::size_t from = static_cast<std::size_t>(layout_.ahead) * ahead_bytes(spec_, layout_);
  for (int array : shared_) {
    if (array == i) break;
    from += static_cast<std::size_t>(layout_.lanes * layout_.items * layout_.vector * spec_.element_bytes(array));
  }
  return "held + " + number(static_cast<std::int64_t>(from)) + " + (u * " + number(layout_.lanes) + " + lane) * " + number(layout_.vector * spec_.element_bytes(i));
}

/// The thread's vector at a place of shared memory.
std::string CudaReducingEmitter::read_held(int i, const std::string& place) const {
  if (is_in_words(i)) return "load_words<" + number(layout_.vector) + ">(reinterpret_cast<const " + stored(i) + "*>(" + place + "))";
  return "*reinterpret_cast<const Vec<" + stored(i) + ", " + number(layout_.vector) + ">*>(" + place + ")";
}

/// What rows share on its way, with the first row.
void CudaReducingEmitter::emit_fetch_shared() {
  if (shared_.empty() || !fetches()) return;
  line("  {\n  const place end = place(a.length), first = place(" + part() + " * " + number(layout_.lanes) + " + lane) * " + number(layout_.vector) + ";");
  for (int i : shared_) text_ += row_start(i);
  emit_bases(shared_, "first");
  line("#pragma unroll\n  for (int u = 0; u < " + number(layout_.items) + "; ++u) {");
  if (layout_.ends != Ends::kTiles) line("    const place at = first + u * " + number(step()) + ";\n    if (!(" + inside("", "at < end") + ")) continue;");
  for (int i : shared_) line("    fetch<" + number(layout_.vector * spec_.element_bytes(i)) + ">(" + in_shared(i) + ", b" + number(i) + " + u * " + number(step()) + ");");
  line("  }\n  }");
}

bool CudaReducingEmitter::has_words() const {
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_read(i) && is_in_words(i)) return true;
  }
  return false;
}

/// The thread's row of a block's n-th, or of a tile's rows the first that it has.
std::string CudaReducingEmitter::thread_row(const std::string& n) const { return beside() ? "(" + n + ") * " + number(tile_rows()) + " + slot * " + number(values()) : n; }

/// fetch_row(a, row, part, lane, t, stage, held), t of tiles alone: the thread's vectors of a row on their way to its places in the ring, if there is such a row. Arrays that are not aligned are
/// read when their elements are wanted.
void CudaReducingEmitter::emit_fetch_row() {
  const bool anywhere = layout_.ends == Ends::kAnywhere;
  const std::string width = number(layout_.vector), lanes = number(layout_.lanes * (beside() ? layout_.items : 1));
  line("DAMO_FUNCTION void fetch_row(const Arguments& a, i64 row, int part, int lane, " + std::string(beside() ? "int t, " : "") + "int stage, unsigned char* held) {");
  if (!fetches()) {
    line("}");
    return;
  }
  line("  if (row < a.n) {");
  text_ += coordinates();
  line("  const place begin = 0, end = place(a.length);");
  for (int i = 0; i < spec_.parameter_count(); ++i) {
    if (is_ahead(i) || (shifts() && i == leader())) text_ += row_start(i);
  }
  if (shifts()) emit_shift(ahead_);
  line("  const place first = place(part * " + lanes + " + lane)" + (rows() ? " * " + width : "") + (shifts() ? " - place(shift);" : ";"));
  emit_bases(ahead_, "first");
  for (int i : ahead_) {
    const std::string n = number(i), to = in_ring(i, "stage"), from = address(i, false);
    const std::string whole = "fetch<" + number(layout_.vector * spec_.element_bytes(i)) + ">(" + to + ", " + from + ");";
    const std::string asked = "if (" + std::string(shifts() ? "whole" + n + " && " : "") + inside("at >= begin", "at + " + width + " <= end") + ") " + whole + "\n      else fetch_some<" + width + ">(" + to + ", " + from + ", begin - at, end - at);";
    const auto loop = [&](const std::string& unroll, const std::string& fetch) {
      line("#pragma unroll" + unroll + "\n    for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n      const place at = first + u * " + number(step()) + ";");
      if (layout_.ends != Ends::kTiles) line("      if (!(" + inside("", "at < end") + ")) continue;");
      line("      " + fetch + "\n    }");
    };
    if (reaches(i)) line("  if (inner" + n + ") {");
    loop("", anywhere && !reaches(i) ? asked : whole);
    if (!reaches(i)) continue;
    line("  } else {");
    loop(" 1", asked);  // of few rows: not unrolled, so that it takes no registers from the others
    line("  }");
  }
  line("  }\n  fetched();\n}");
}

void CudaReducingEmitter::emit_fetch(const std::string& row) {
  line("  fetch_row(a, " + (layout_.batched ? row + " < end_row ? " + row + " : a.n" : row) + ", " + part() + ", lane, " + (beside() ? "t, " : "") + (layout_.ahead > 1 ? "stage" : "0") + ", held);");
}

/// The first rows on their way.
void CudaReducingEmitter::emit_ring() {
  line("  extern __shared__ __align__(128) unsigned char held[];");
  emit_fetch_shared();
  line("#pragma unroll 1\n  for (int stage = 0; stage < " + number(layout_.ahead) + "; ++stage)");
  emit_fetch(thread_row((layout_.batched ? "first_row + share + stage * " : "block + stage * ") + rows_apart()));
  line("  u32 turn = 0" + std::string(layout_.ahead > 1 ? ", stage = 0;" : ";"));
}

/// Of a cluster: meetings for which every block is there.
void CudaReducingEmitter::emit_open_meetings() {
  if (layout_.cluster == 1) return;
  const std::string places = number(2 * (meetings() - (own_ ? 1 : 0)));
  line("  __shared__ u64 meetings[" + places + "];\n  if (t == 0) {\n    for (int m = 0; m < " + places + "; ++m) open_meeting(meetings + m);\n    opened();\n  }");
  line("  __syncthreads();\n  arrive();\n  leave();");
}

/// Before the loop over rows: the first ones on their way. Then the loop.
void CudaReducingEmitter::emit_stay() {
  line("  const i64 clusters = gridDim.x / " + number(layout_.cluster) + ";");
  emit_open_meetings();
  emit_ring();
  if (beside()) line("  const int joined_row = t / " + number(joiners()) + " % " + number(tile_rows()) + ", joiner = t % " + number(joiners()) + ";");
  if (beside()) line("  for (i64 tile = block; tile * " + number(tile_rows()) + " < a.n; tile += clusters, ++turn) {\n  const i64 own = " + thread_row("tile") + ", row = own < a.n ? own : a.n - " + number(values()) + ";");
  else line("  for (i64 own = block; own < a.n; own += clusters, ++turn) {\n  const i64 row = own;");
}

/// Likewise of a block that joins across rows, with what rows share in registers, or in shared memory where those have no room.
void CudaReducingEmitter::emit_stay_across() {
  emit_open_meetings();
  emit_ring();
  std::size_t rows = static_cast<std::size_t>(layout_.ahead) * ahead_bytes(spec_, layout_);
  for (int i : shared_) rows += static_cast<std::size_t>(layout_.lanes * layout_.items * layout_.vector * spec_.element_bytes(i));
  emit_held_shared(across_shared_, static_cast<std::int64_t>(rows));
  std::vector<int> kept;
  for (int i = 0; i < spec_.input_count(); ++i) {
    if (is_read(i) && is_kept(i)) kept.push_back(i);
  }
  if (!kept.empty()) {
    declare_vectors(kept);
    line("  {\n  const place end = place(a.length), first = place(" + (layout_.cluster > 1 ? "part * " + number(layout_.lanes) + " + lane" : std::string("lane")) + ") * " + number(layout_.vector) + ";");
    for (int i : kept) text_ += row_start(i);
    emit_bases(kept, "first");
    emit_loads(kept, "first + u * " + number(step()));
    line("  }");
  }
  line("  for (i64 own = " + std::string(layout_.batched ? "first_row + share" : "block") + "; own < " + end_of_rows() + "; own += a.chunks, ++turn) {\n  const i64 row = own;");
}

/// Those of the inputs that a row before has asked for, what lies in shared memory, and the others, as they lie.
void CudaReducingEmitter::emit_loads_ahead(const std::vector<int>& inputs) {
  std::vector<int> others, shared;
  for (int i : inputs) {
    if (is_shared(i)) shared.push_back(i);
    else if (!fetches() || !is_ahead(i)) others.push_back(i);
  }
  emit_loads(others, "first + u * " + number(step()));
  if (!fetches()) return;
  line("  await<" + number(layout_.ahead - 1) + ">();");
  for (int i : ahead_) line("#pragma unroll\n      for (int u = 0; u < " + number(layout_.items) + "; ++u) x" + number(i) + "[u] = " + read_held(i, in_ring(i, "stage")) + ";");
  emit_loads(shared, "first + u * " + number(step()));
  if (!across_.empty()) emit_fetch("own + " + number(layout_.ahead) + " * a.chunks");
}

/// The end of the loop over rows. No block leaves while another may send to it.
void CudaReducingEmitter::emit_leave() {
  if (layout_.ahead > 1) line("  stage = stage + 1 == " + number(layout_.ahead) + " ? 0 : stage + 1;");
  if (meetings() == 1 && !alternates() && !beside()) line("  __syncthreads();");  // the next row's values come where this one's are read
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
