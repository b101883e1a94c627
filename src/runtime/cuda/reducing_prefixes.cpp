// The part of CudaReducingEmitter that makes prefix joins of rows which threads hold. A warp's vectors of a row follow each other, 32 neighbours for each of a thread's vectors, and so do the warps' parts. Each element
// is joined within its vector, vectors by the lanes of a warp, and what warps have by each warp for itself, behind one meeting of the block. In one order, whatever the timing. No value is neutral but the one of which an
// exclusive scan begins: the first element of a row stays as it is.
#include <vector>

#include "runtime/cuda/reducing_emitter.hpp"

namespace damo {

/// Those of the pass's accumulators that give a row its value.
std::vector<int> CudaReducingEmitter::row_joins(const Passes::Pass& pass) const {
  std::vector<int> joins = pass.joins;
  std::erase_if(joins, [this](int join) { return is_prefix(join); });
  return joins;
}

std::vector<int> CudaReducingEmitter::prefix_joins(const Passes::Pass& pass) const {
  std::vector<int> joins = pass.joins;
  std::erase_if(joins, [this](int join) { return !is_prefix(join); });
  return joins;
}

/// The number of a thread's first vector among those of the row.
std::string CudaReducingEmitter::scanning_lane() const {
  const std::string in = number(in_warp());
  return "(lane / " + in + " * " + number(layout_.items * in_warp()) + " + lane % " + in + ")";
}

/// mN[u][k]: what the elements of the vector up to that one give. The first of a row joins nothing.
void CudaReducingEmitter::emit_appended_prefix(int join) {
  const auto names = [this](int value) { return name(value); };
  const std::string m = "m" + number(join) + "[u]", is_first = shifts() ? "k == 0 || (u == 0 && at + k == begin)" : "k == 0";
  line("          " + m + "[k] = " + is_first + " ? " + steps_.call(join, names) + " : " + steps_.appended(join, m + "[k > 0 ? k - 1 : 0]", names) + ";");
}

/// eN[u] and hasN[u]: what the warp has before vector u, and whether it has something; wN: all that it has. joined: what vector u gives.
void CudaReducingEmitter::emit_warp_prefixes(int join, const std::string& joined) {
  const std::string n = number(join), type = "Joined" + n, reduce = "reduce" + n, items = number(layout_.items), in = number(in_warp());
  line("  " + type + " e" + n + "[" + items + "], w" + n + ";\n  bool has" + n + "[" + items + "];");
  line("#pragma unroll\n  for (int u = 0; u < " + items + "; ++u) {\n    " + type + " joined = " + joined + ";");
  line("#pragma unroll\n    for (int d = 1; d < " + in + "; d *= 2) {\n      const " + type + " before = of_lane_before(joined, d);");
  line("      if (t % " + in + " >= d) joined = " + reduce + "(before, joined);\n    }");
  line("    const " + type + " before = of_lane_before(joined, 1), all = of_lane(joined, t & 31 | " + number(in_warp() - 1) + ");");
  line("    if (u == 0) e" + n + "[u] = before; else e" + n + "[u] = t % " + in + " > 0 ? " + reduce + "(w" + n + ", before) : w" + n + ";");
  line("    has" + n + "[u] = u > 0 || t % " + in + " > 0;");
  line("    if (u == 0) w" + n + " = all; else w" + n + " = " + reduce + "(w" + n + ", all);\n  }");
}

/// Likewise of a thread that has a row to itself, and asks no other: those of its warp may have gone through their rows.
void CudaReducingEmitter::emit_thread_prefixes(int join) {
  const std::string n = number(join), items = number(layout_.items), m = "m" + n + "[u - 1][" + number(layout_.vector - 1) + "]";
  line("  Joined" + n + " e" + n + "[" + items + "];\n  bool has" + n + "[" + items + "] = {};");
  line("#pragma unroll\n  for (int u = 1; u < " + items + "; ++u) e" + n + "[u] = u == 1 ? " + m + " : reduce" + n + "(e" + n + "[u - 1], " + m + "), has" + n + "[u] = true;");
}

/// The same with what the warps before have, which lies in shared memory: the lanes of each warp join it, so that none waits for a chain of as many values as there are warps.
void CudaReducingEmitter::emit_block_prefixes(int join) {
  const std::string n = number(join), type = "Joined" + n, reduce = "reduce" + n, warps = number(this->warps());
  line("  {\n    " + type + " before = s" + n + "[t % " + warps + "];");
  line("#pragma unroll\n    for (int d = 1; d < " + warps + "; d *= 2) {\n      const " + type + " other = of_lane_before(before, d);");
  line("      if (t % " + warps + " >= d) before = " + reduce + "(other, before);\n    }");
  line("    before = of_lane(before, lane < 32 ? 0 : lane / 32 - 1);");
  line("#pragma unroll\n    for (int u = 0; u < " + number(layout_.items) + "; ++u) {\n      if (lane < 32) continue;");
  line("      e" + n + "[u] = has" + n + "[u] ? " + reduce + "(before, e" + n + "[u]) : before;\n      has" + n + "[u] = true;\n    }\n  }");
}

/// All of a pass, with one meeting.
void CudaReducingEmitter::emit_prefixes(const Passes::Pass& pass) {
  const std::vector<int> joins = prefix_joins(pass);
  for (int join : joins) layout_.lanes == 1 ? emit_thread_prefixes(join) : emit_warp_prefixes(join, "m" + number(join) + "[u][" + number(layout_.vector - 1) + "]");
  if (joins.empty() || warps() == 1) return;
  declare_shared(joins, warps());
  for (int join : joins) line("  if (t % 32 == 0) s" + number(join) + "[t / 32] = w" + number(join) + ";");
  line("  __syncthreads();");
  for (int join : joins) emit_block_prefixes(join);
}

/// The value of element k of vector u, of what the vector's elements up to it, or before it, give.
std::string CudaReducingEmitter::prefix_value(int join, const std::string& own, const std::string& before) const {
  const std::string n = number(spec_.accumulator_of(join)), e = "e" + n + "[u]";
  const auto joined = [&](const std::string& of_vector) { return "has" + n + "[u] ? reduce" + n + "(" + e + ", " + of_vector + ") : " + of_vector; };
  if (spec_.step_of(join).join->prefix == Prefix::kInclusive) return steps_.post(join, joined(own), "i64(at + k) + 1");
  const std::string begins = shifts() ? "at + k <= begin" : "u == 0 && k == 0 && at <= begin";  // of the whole row
  return steps_.post(join, begins + " ? neutral" + n + "() : k == 0 ? " + e + " : " + joined(before), "i64(at + k)");
}

}  // namespace damo
