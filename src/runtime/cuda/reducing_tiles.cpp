// Of CudaReducingEmitter: what the threads of blocks that stay give each other of a tile of rows beside each other. Each thread has values of as many rows as a vector has, and a tile has as many as there are lanes of a warp, or
// more. So few threads join what all have of one row, and what they get all read: if each did that for its own rows, it would read and join a value of each warp, and of each block of the cluster, for each of them, which takes as
// many instructions as the elements of the tile and registers that hold those.
//
//   s   what each warp's lanes have joined, a row of the tile behind the other. A warp's are an element further apart than there are rows, so that the lanes that read a row's find them in different banks
//   b   the block's, of which every block of a cluster sends its values to the others
//   f   the cluster's
//
// See tests/function/tiles_that_stay_test.cpp. Of each the next use comes behind a barrier of the block that all threads reach when they have read the one before.
#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_text.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {

/// w3, ...: what the block has joined of row joined_row of the tile, in all lanes that join it.
void CudaReducingEmitter::emit_joined_tile(const std::vector<int>& joins) {
  const int warps = block_ / 32;
  const std::string apart = number(tile_rows() + 1), lanes = number(joiners());
  emit_exchange_beside(joins, 32 / slots());
  declare_shared(joins, warps * (tile_rows() + 1));
  line("  if (t % 32 < " + number(slots()) + ") {");
  for (int join : joins) line(unrolled("    ", "s" + number(join) + "[t / 32 * " + apart + " + slot" + (several() ? " * " + number(values()) + " + k] = j" + number(join) + "[k];" : "] = j" + number(join) + ";")));
  line("  }\n  __syncthreads();");
  for (int join : joins) {
    const std::string n = number(join), w = "w" + n, reduce = w + " = reduce" + n + "(" + w + ", ";
    line("  Joined" + n + " " + w + " = s" + n + "[joiner * " + apart + " + joined_row];");
    if (warps > joiners()) line("#pragma unroll\n  for (int other = " + lanes + "; other < " + number(warps) + "; other += " + lanes + ") " + reduce + "s" + n + "[(other + joiner) * " + apart + " + joined_row]);");
    if (joiners() > 1) line("#pragma unroll\n  for (int distance = " + number(joiners() / 2) + "; distance > 0; distance /= 2) " + reduce + "exchanged(" + w + ", distance));");
    // reduce(a, b) of a struct, or of a user's text, may round otherwise than reduce(b, a), and each lane may send
    if (spec_.step_of(join).row || !spec_.step_of(join).join->members.empty()) line("  " + w + " = of_lane(" + w + ", t % 32 / " + lanes + " * " + lanes + ");");
  }
}

/// The values of the thread's rows out of those of the tile's.
void CudaReducingEmitter::emit_taken(const std::vector<int>& joins, const std::string& letter) {
  for (int join : joins) line(unrolled("  ", "j" + number(join) + (several() ? "[k] = " : " = ") + letter + number(join) + "[slot" + (several() ? " * " + number(values()) + " + k];" : "];")));
}

void CudaReducingEmitter::emit_tile_of_block(const std::vector<int>& joins) {
  if (joins.empty()) return;
  declare_shared(joins, tile_rows(), "b");
  line("  if (joiner == 0) {");
  for (int join : joins) line("    b" + number(join) + "[joined_row] = w" + number(join) + ";");
  line("  }\n  __syncthreads();");
  emit_taken(joins, "b");
}

/// Joins the values of the cluster's blocks, in their order: a thread each row. What is joined before the blocks' own maxima are one is a sum of exponentials, which comes to the row's maximum on the way; of that pass's joins the block has
/// values in b.
void CudaReducingEmitter::emit_tile_meeting(int number_of, const std::vector<int>& joins) {
  const std::string blocks = number(layout_.cluster), n = number(number_of), rows = number(tile_rows()), place = "meetings + " + number(2 * number_of) + " + turn % 2", met = "met" + n + "[turn % 2]";
  const std::vector<int>& before = passes_.all()[0].joins;
  const std::string m = is_own_ ? number(own_->maximum) : "", k = several() ? "[k]" : "";
  const auto is_before = [&](int join) { return is_own_ && std::find(before.begin(), before.end(), join) != before.end(); };
  const auto is_sum = [&](int join) { return is_own_ && !is_before(join); };
  std::string members, given;
  for (int join : joins) {
    const std::string own = number(join);
    members += " Joined" + own + " j" + own + ";";
    given += (given.empty() ? "" : ", ") + (is_before(join) ? "b" + own + "[joined_row]" : "w" + own);
  }
  const std::string once = joiners() * tile_rows() < block_ ? "  if (t < " + number(joiners() * tile_rows()) + ")" : " ";
  line("  struct Met" + n + " {" + members + " };\n  __shared__ Words<Met" + n + "> met" + n + "[2][" + blocks + " * " + rows + "];");
  line("  if (t == 0) expect(" + place + ", " + blocks + " * " + rows + " * u32(sizeof(met" + n + "[0][0].words)));");
  line(once + " for (int b = joiner; b < " + blocks + "; b += " + number(joiners()) + ") send(" + met + "[part * " + rows + " + joined_row], Met" + n + "{" + given + "}, " + place + ", b);");
  declare_shared(joins, tile_rows(), "f");
  if (is_own_) line("  __shared__ float scales" + m + "[" + rows + "];");
  line("  meet(" + place + ", turn / 2 % 2);\n  if (t < " + rows + ") {");
  const auto of_block = [&](const std::string& b, int join) { return "taken(" + met + "[" + (b == "0" ? "t" : b + " * " + rows + " + t") + "]).j" + number(join); };
  for (int join : joins) {
    const std::string a = "a" + number(join);
    const auto value = [&](const std::string& b) { return of_block(b, join) + (is_sum(join) ? " * part_of(" + of_block(b, own_->maximum) + ", a" + m + ", neutral" + m + "())" : ""); };
    line("    Joined" + number(join) + " " + a + " = " + value("0") + ";");
    line("#pragma unroll\n    for (int b = 1; b < " + blocks + "; ++b) " + a + " = reduce" + number(join) + "(" + a + ", " + value("b") + ");");
    line("    f" + number(join) + "[t] = " + a + ";");
  }
  if (is_own_) line("    scales" + m + "[t] = part_of(" + of_block("part", own_->maximum) + ", a" + m + ", neutral" + m + "());");
  line("  }\n  __syncthreads();");
  emit_taken(joins, "f");
  if (!is_own_) return;
  if (several()) line("  float scale" + m + "[" + number(values()) + "];\n" + unrolled("  ", "scale" + m + "[k] = scales" + m + "[slot * " + number(values()) + " + k];"));
  else line("  const float scale" + m + " = scales" + m + "[slot];");
}

}  // namespace damo
