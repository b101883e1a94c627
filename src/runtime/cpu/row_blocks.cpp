// The part of CpuReducingEmitter for short rows in blocks: pass by pass, what the partial values of a row join to is joined for all rows of the block together. One row after
// another, a row's chain of joins would take as long as the row.
#include "runtime/cpu/reducing_emitter.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

/// Whether the chain of joins takes longer than its way through memory: what one instruction joins, as a sum, stays in registers.
bool CpuReducingEmitter::pays_blocks() const {
  bool pays = passes_.all().size() > 1;
  each_accumulator(spec_, [&](const Join& join) { pays |= !join.across && (!join.members.empty() || !join.accumulator.empty() || join.reduce.find_first_of("(<>?") != std::string::npos); });
  return pays;
}

/// The beginning of a loop over the rows of a block, with what each has so far.
void CpuReducingEmitter::begin_row_of_block(const std::string& indent) {
  line(indent + "for (i64 b = 0; b < count; ++b) {\n" + indent + "  const i64 row = block + b;");
  emit_row_start(indent + "  ", "row", layout_.rank, "");
  for (int value : of_block_) line(indent + "  const " + value_type(steps_.dtype(value)) + " v" + number(value) + " = w" + number(value) + "[b];");
}

/// Some rows, pass by pass.
void CpuReducingEmitter::emit_row_block() {
  const int elements = spec_.joins_across() ? kCpuAcrossBlockElements : kCpuBlockElements;
  line("    const i64 fit = " + number(elements) + " / (a.length > 0 ? a.length : 1), most = fit < 1 ? 1 : fit < " + number(kCpuBlockRows) + " ? fit : " + number(kCpuBlockRows) + ";");
  line("    for (i64 block = from; block < to; block += most) {");
  line("      const i64 count = to - block < most ? to - block : most;");
  of_block_.clear();
  emit_block_values({}, {}, passes_.first_row_steps(), false);
  for (const Passes::Pass& pass : passes_.all()) {
    emit_block_pass(pass);
    emit_block_values(pass.joins, pass.given, pass.row_steps, &pass == &passes_.all().back());
  }
  line("    }");
}

/// What the rows' partial values join to is left in j3[], ..., of each row.
void CpuReducingEmitter::emit_block_pass(const Passes::Pass& pass) {
  const std::string half = number(layout_.lanes / 2), rows = number(kCpuBlockRows);
  const auto declare = [&](const std::string& letter, int join, const std::string& each) {
    const std::string n = number(join), extent = "[" + rows + " * " + each + "];";
    const auto& members = spec_.step_of(join).join->members;
    if (members.empty()) line("      alignas(64) Joined" + n + " " + letter + n + extent);
    for (const auto& [type, member] : members) line("      alignas(64) " + type + " " + letter + n + "_" + member + extent);
  };
  for (int join : pass.joins) {
    declare("g", join, half);
    declare("h", join, "4");
    declare("j", join, "1");
  }
  begin_row_of_block("      ");
  declare_ahead("        ");
  line("        const i64 r = begin, run = end - r;");
  for (int join : pass.joins) declare_lanes("        ", "m", join, "");
  emit_reduced_offsets("        ", "r", layout_.reduced_rank, pass);
  emit_elements("        ", "run", "r + ", "m", pass);
  for (int join : pass.joins) {
    line(kLanes);
    line("        for (int k = 0; k < " + half + "; ++k) " + set_lane("g", join, "b * " + half + " + k", "reduce" + number(join) + "(" + lane("m", join, "k") + ", " + lane("m", join, "k + " + half) + ")"));
  }
  line("      }");
  emit_block_joins(pass);
}

/// As emit_joined_lanes, of all rows of the block.
void CpuReducingEmitter::emit_block_joins(const Passes::Pass& pass) {
  static_assert(kCpuShortLanes == 16);
  for (int join : pass.joins) {
    const std::string n = number(join), reduce = "reduce" + n + "(";
    const auto h = [&](const char* k) { return lane("h", join, std::string("b * 4 + ") + k); };
    line("      for (i64 b = 0; b < count; ++b) {");
    line(kLanes);
    line("        for (int k = 0; k < 4; ++k) " + set_lane("h", join, "b * 4 + k", reduce + lane("g", join, "b * 8 + k") + ", " + lane("g", join, "b * 8 + k + 4") + ")") + "\n      }");
    line("#pragma clang loop vectorize(assume_safety)");
    line("      for (i64 b = 0; b < count; ++b) {");
    line("        const Joined" + n + " even = " + reduce + h("0") + ", " + h("2") + "), odd = " + reduce + h("1") + ", " + h("3") + ");");
    line("        " + set_lane("j", join, "b", reduce + reduce + "even, odd), neutral" + n + "())") + "\n      }");
  }
}

/// w3[], ...: values that each row of the block has from now on, or of the last pass what is stored of each.
void CpuReducingEmitter::emit_block_values(const std::vector<int>& joins, const std::vector<int>& given, const std::vector<int>& steps, bool are_last) {
  if (are_last ? passes_.row_stores().empty() : given.empty() && steps.empty()) return;
  std::vector<int> made = given;
  made.insert(made.end(), steps.begin(), steps.end());
  for (int value : made) {
    if (!are_last) line("      " + value_type(steps_.dtype(value)) + " w" + number(value) + "[" + number(kCpuBlockRows) + "];");
  }
  begin_row_of_block("      ");
  for (int join : joins) line("        const Joined" + number(join) + " all" + number(join) + " = " + lane("j", join, "b") + ";");
  if (are_last) {
    emit_row_results("        ", given, steps);
  } else {
    emit_row_values("        ", given, steps);
    for (int value : made) line("        w" + number(value) + "[b] = v" + number(value) + ";");
    of_block_.insert(of_block_.end(), made.begin(), made.end());
  }
  line("      }");
}
}  // namespace damo
