#include "runtime/cpu/scan_emitter.hpp"

#include <algorithm>

#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

constexpr int kStrip = 1024, kChains = 8, kPart = kStrip / kChains;  // elements of a row

}  // namespace

std::string CpuScanEmitter::emit() {
  emit_head();
  line(std::string("extern \"C\" ") + (spec_.users_text ? "__device__ " : "") + "void damo_wait_for(const int* flag);");
  begin(entry_name(spec_));
  if (columns()) emit_scanned_columns();
  else emit_scanned_rows();
  line("  }");
  end();
  emit_users_kernels();
  return std::move(text_);
}

/// Which part of which chunk it is this task's turn to do. Behind the ticket, a line of the cache, lie a flag for each, and behind them what
/// a chunk and those before it give.
void CpuScanEmitter::emit_turn() {
  if (!layout_.chunked) {
    line("    const i64 begin = 0, end = a.length;");
    return;
  }
  line("    i64* const ticket = static_cast<i64*>(a.scratch);\n    const i64 turn = __atomic_fetch_add(ticket, 1, __ATOMIC_RELAXED), chunk = turn / a.tile, part = turn % a.tile;");
  line("    int* const flag = reinterpret_cast<int*>(ticket + 8) + turn;\n    Partial* const states = reinterpret_cast<Partial*>(ticket + 8 + (a.tile * a.chunks + 1) / 2);");
  line("    const i64 begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
}

/// Values of rows that are made of values of rows alone: nothing is joined to one value a row. They are written with the first chunk.
void CpuScanEmitter::emit_stores_of_rows(const std::string& indent) {
  if (passes_.row_stores().empty()) return;
  line(indent + (layout_.chunked ? "if (chunk == 0) {" : "{"));
  emit_row_results(indent + "  ", {}, {});
  line(indent + "}");
}

/// Declares beforeN, what stands before the chunk, and goes through the chunk: in round 0 for its value alone, in round 1 for the results. The
/// chunk's value is in carryN or, of columns, in the lanes of mN.
void CpuScanEmitter::emit_rounds(const std::function<void()>& go_through) {
  if (!layout_.chunked) {
    line("      const bool preceded = false;\n      {\n      const bool stores = true;");
    go_through();
    line("      }");
    return;
  }
  const std::string each = columns() ? "for (i64 k = 0; k < count; ++k) " : "", place = columns() ? "row + k" : "row";
  const auto load_before = [&](const std::string& indent) {
    for (int join : joins()) {
      const std::string n = number(join), from = "states[(chunk - 1) * a.n + " + place + "].j" + n;
      line(indent + each + (columns() ? set_lane("b", join, "k", from) : "before" + n + " = " + from + ";"));
    }
  };
  line("      const bool preceded = chunk > 0, ready = !preceded || __atomic_load_n(flag - a.tile, __ATOMIC_ACQUIRE) != 0;\n      bool handed_on = false;");
  line("      if (preceded && ready) {");
  load_before("        ");
  line("      }\n      for (int round = ready ? 1 : 0; round < 2; ++round) {\n      const bool stores = round == 1;");
  go_through();
  line("      if (handed_on) break;\n      if (preceded && !ready) {\n        damo_wait_for(flag - a.tile);");
  load_before("        ");
  line("      }");
  for (int join : joins()) {
    const std::string n = number(join), own = columns() ? lane("m", join, "k") : "carry" + n, before = columns() ? lane("b", join, "k") : "before" + n;
    line("      " + each + "states[chunk * a.n + " + place + "].j" + n + " = preceded ? reduce" + n + "(" + before + ", " + own + ") : " + own + ";");
  }
  line("      __atomic_store_n(flag, 1, __ATOMIC_RELEASE);\n      handed_on = true;\n      }");
}

void CpuScanEmitter::emit_scanned_rows() {
  emit_turn();
  line(layout_.chunked ? "    const i64 from = part, to = part + 1;" : "    const i64 from = task * a.tile, to = from + a.tile < a.n ? from + a.tile : a.n;");
  line("    for (i64 row = from; row < to; ++row) {");
  emit_row_start("      ", "row", layout_.rank, "");
  emit_row_values("      ", {}, passes_.first_row_steps());
  emit_stores_of_rows("      ");
  for (int join : joins()) {  // the element before the first may be read, if never used
    const std::string n = number(join);
    line("      Joined" + n + " before" + n + " = neutral" + n + "(), carry" + n + " = before" + n + ", m" + n + "[" + number(kStrip + 1) + "]; m" + n + "[0] = before" + n + ";");
  }
  emit_rounds([&] { emit_strip(); });
  line("    }");
}

std::string CpuScanEmitter::given_prefixes(const std::string& indent, const std::function<std::string(int accumulator)>& prefix, const std::string& place) const {
  std::string text;
  for (int join : joins()) text += indent + "const Joined" + number(join) + " prefix" + number(join) + " = " + prefix(join) + ";\n";
  for (int join : passes_.all()[0].given) {
    const std::string count = place + (prefix_of(join) == Prefix::kInclusive ? " + 1" : "");
    text += indent + "const " + value_type(steps_.dtype(join)) + " v" + number(join) + " = " + steps_.post(join, "prefix" + number(spec_.accumulator_of(join)), count) + ";\n";
  }
  return text;
}

/// mN[j + 1]: of element j of the strip first what is joined, then what its part of the strip up to it gives.
void CpuScanEmitter::emit_strip() {
  const Passes::Pass &first = passes_.all()[0], last = passes_.behind_prefixes();
  const std::string vectorise = layout_.in_place ? "#pragma clang loop vectorize(assume_safety)" : "#pragma clang loop vectorize(enable)";
  line("      bool some = false;\n      for (i64 r = begin; r < end; r += " + number(kStrip) + ") {\n        const i64 count = end - r < " + number(kStrip) + " ? end - r : " + number(kStrip) + ";");
  const auto make = [&](const Passes::Pass& pass) {
    line(vectorise + "\n        for (i64 j = 0; j < count; ++j) {");
    emit_element("          ", "j", "r + j", pass);
    for (int join : pass.joins) line("          m" + number(join) + "[j + 1] = " + steps_.call(join, [this](int value) { return name(value); }) + ";");
    line("        }");
  };
  line("        {");
  emit_reduced_offsets("        ", "r", layout_.reduced_rank, first);
  if (first.stores.empty() && first.keeps.empty()) {
    make(first);
  } else {  // what is written is written once
    Passes::Pass silent = first;
    silent.stores.clear();
    silent.keeps.clear();
    line("        if (stores) {");
    make(first);
    line("        } else {");
    make(silent);
    line("        }");
  }
  line("        }");
  for (int join : joins()) emit_chains(join);
  emit_reduced_offsets("        ", "r", layout_.reduced_rank, last);
  line("        for (i64 part_begin = 0; part_begin < count; part_begin += " + number(kPart) + ") {");
  line("          const i64 part_end = part_begin + " + number(kPart) + " < count ? part_begin + " + number(kPart) + " : count;\n          const bool joins = some || preceded;");
  for (int join : joins()) {
    const std::string n = number(join), reduce = "reduce" + n, before = "before" + n, carry = "carry" + n;
    line("          const Joined" + n + " o" + n + " = some ? (preceded ? " + reduce + "(" + before + ", " + carry + ") : " + carry + ") : " + before + ";");
  }
  const auto prefix = [this](int join) {
    const std::string n = number(join), m = "m" + n;
    const auto joined = [&](const std::string& own) { return "joins ? reduce" + n + "(o" + n + ", " + own + ") : " + own; };
    return prefix_of(join) == Prefix::kInclusive ? joined(m + "[j + 1]") : "j == part_begin ? (joins ? o" + n + " : neutral" + n + "()) : " + joined(m + "[j]");
  };
  line("          if (stores) {\n" + vectorise + "\n          for (i64 j = part_begin; j < part_end; ++j) {");
  emit_element("            ", "j", "r + j", last, given_prefixes("            ", prefix, "r + j"));
  line("          }\n          }");
  for (int join : joins()) line("          carry" + number(join) + " = some ? reduce" + number(join) + "(carry" + number(join) + ", m" + number(join) + "[part_end]) : m" + number(join) + "[part_end];");
  line("          some = true;\n        }\n      }");
}

void CpuScanEmitter::emit_chains(int join) {
  const std::string n = number(join), m = "m" + n, chains = number(kChains), part = number(kPart);
  line("        if (count == " + number(kStrip) + ") {\n          Joined" + n + " c[" + chains + "];\n          for (int s = 0; s < " + chains + "; ++s) c[s] = " + m + "[s * " + part + " + 1];");
  line("          for (i64 j = 2; j <= " + part + "; ++j) {\n#pragma clang loop unroll(full)");
  line("            for (int s = 0; s < " + chains + "; ++s) " + m + "[s * " + part + " + j] = c[s] = reduce" + n + "(c[s], " + m + "[s * " + part + " + j]);\n          }");
  line("        } else {\n          for (i64 s = 0; s < count; s += " + part + ") for (i64 j = s + 2; j <= count && j <= s + " + part + "; ++j) " + m + "[j] = reduce" + n + "(" + m + "[j - 1], " + m + "[j]);\n        }");
}

/// Columns: an element goes through both passes in one loop.
void CpuScanEmitter::emit_scanned_columns() {
  const std::string lanes = number(layout_.lanes), extent = "a.kept[" + number(layout_.rank - 1) + "]";
  emit_turn();
  line("    const i64 tiles = (" + extent + " + " + number(layout_.lanes - 1) + ") / " + lanes + ", tile = " + (layout_.chunked ? "part;" : "task;"));
  line("    const i64 outer = tile / tiles, column = tile % tiles * " + lanes + ", left = " + extent + " - column, count = left < " + lanes + " ? left : " + lanes + ", row = outer * " + extent + " + column;");
  emit_row_start("    ", "outer", layout_.rank - 1, "column");
  emit_row_values("    ", {}, passes_.first_row_steps());
  emit_stores_of_rows("    ");
  for (int join : joins()) {
    declare_lanes("    ", "m", join, "count");
    if (layout_.chunked) declare_lanes("    ", "b", join, "count");
  }
  emit_rounds([&] {
    line("      for (i64 r = begin; r < end; ++r) {\n      const bool starts = r == begin;");
    emit_column_element();
    line("      }");
  });
}

void CpuScanEmitter::emit_column_element() {
  Passes::Pass before = passes_.all()[0], behind = passes_.behind_prefixes(), all = before;
  const auto known = [](const std::vector<int>& values, int value) { return std::find(values.begin(), values.end(), value) != values.end(); };
  std::erase_if(behind.inputs, [&](int value) { return known(before.inputs, value); });
  std::erase_if(behind.steps, [&](int value) { return known(before.steps, value); });
  behind.kept.clear();
  before.keeps.clear();
  all.keeps.clear();
  all.inputs.insert(all.inputs.end(), behind.inputs.begin(), behind.inputs.end());
  all.stores.insert(all.stores.end(), behind.stores.begin(), behind.stores.end());
  emit_reduced_offsets("      ", "r", 1, all);
  const auto names = [this](int value) { return name(value); };
  std::string joined;
  for (int join : joins()) {
    const std::string n = number(join);
    joined += "        const Joined" + n + " was" + n + " = " + lane("m", join, "k") + ", now" + n + " = starts ? " + steps_.call(join, names) + " : " + steps_.appended(join, "was" + n, names) + ";\n        " + set_lane("m", join, "k", "now" + n) + "\n";
  }
  const auto prefix = [this](int join) {
    const std::string n = number(join), b = layout_.chunked ? lane("b", join, "k") : "neutral" + n + "()";
    const auto behind_chunks = [&](const std::string& own) { return "preceded ? reduce" + n + "(" + b + ", " + own + ") : " + own; };
    return prefix_of(join) == Prefix::kInclusive ? behind_chunks("now" + n) : "starts ? (preceded ? " + b + " : neutral" + n + "()) : " + behind_chunks("was" + n);
  };
  if (layout_.chunked) {  // what is written is written once
    Passes::Pass silent = before;
    silent.stores.clear();
    line("      if (!stores) {\n      for (i64 k = 0; k < count; ++k) {");
    emit_element("        ", "k", "r", silent);
    text_ += joined;
    line("      }\n      continue;\n      }");
  }
  line("      for (i64 k = 0; k < count; ++k) {");
  emit_element("        ", "k", "r", before);
  text_ += joined;
  emit_element("        ", "k", "r", behind, given_prefixes("        ", prefix, "r"));
  line("      }");
}

}  // namespace damo
