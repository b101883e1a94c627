// The part of CpuReducingEmitter for joins whose parts lie apart, across rows or of columns and rows in chunks: where tasks leave them, and the second kernel that joins them.
#include "runtime/cpu/reducing_emitter.hpp"
#include "runtime/kernel/argument_block.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {

/// Joins whose parts lie apart: across rows, or of columns in chunks.
std::vector<int> CpuReducingEmitter::parted() const {
  if (!spec_.joins_across()) return passes_.all()[0].joins;
  std::vector<int> joins;
  for (const Passes::Pass& pass : passes_.all()) joins.insert(joins.end(), pass.across.begin(), pass.across.end());
  return joins;
}

/// part3, ...: the parts of a join's values, those of one chunk side by side, so many.
void CpuReducingEmitter::emit_parts(const std::string& count) {
  std::string from = "static_cast<char*>(a.scratch)";
  for (int join : parted()) {
    const std::string n = number(join), type = "Joined" + n;
    line("    " + type + "* const part" + n + " = reinterpret_cast<" + type + "*>(" + from + ");");
    from += " + (a.chunks * " + count + " * i64(sizeof(" + type + ")) + 127) / 128 * 128";
  }
}

/// h3, ...: the task's values of joins across rows, one for each place of a row.
void CpuReducingEmitter::emit_held_across() {
  emit_parts(places_across());
  for (int join : parted()) {
    const std::string n = number(join);
    line("    Joined" + n + "* __restrict const h" + n + " = part" + n + " + " + (layout_.batched ? "(share * (a.n / a.joined) + batch)" : "task") + " * a.length;");
    line("    for (i64 p = 0; p < a.length; ++p) h" + n + "[p] = neutral" + n + "();");
  }
}

/// The beginning of a kernel whose tasks join the parts of some neighbouring values, of so many: part3[value] then is all of them. Parts are joined in
/// pairs, so that the error of a sum grows with the logarithm of their number.
void CpuReducingEmitter::begin_finish_of_parts(const std::string& all) {
  const std::string columns = number(kCpuAcrossColumns);
  begin(entry_names(spec_, layout_)[1]);
  line("    const i64 first_value = task * " + columns + ", left = " + all + " - first_value, count = left < " + columns + " ? left : " + columns + ";");
  emit_parts(all);
  for (int join : parted()) {
    const std::string n = number(join), type = "Joined" + n;
    line("    for (i64 apart = 1; apart < a.chunks; apart *= 2) {\n      for (i64 c = 0; c + apart < a.chunks; c += 2 * apart) {");
    line("        " + type + "* __restrict const to = part" + n + " + c * " + all + " + first_value;");
    line("        const " + type + "* __restrict const other = part" + n + " + (c + apart) * " + all + " + first_value;");
    line(std::string(kBriefly) + "\n        for (i64 k = 0; k < count; ++k) to[k] = reduce" + n + "(to[k], other[k]);\n      }\n    }");
  }
  line("    for (i64 value = first_value; value < first_value + count; ++value) {");
}

/// Each task joins what the first kernel's tasks have of some neighbouring places.
void CpuReducingEmitter::emit_finish_across() {
  begin_finish_of_parts(places_across());
  line("      i64 left_over = " + std::string(layout_.batched ? "value % a.length, rest = value / a.length * a.joined;" : "value;"));
  for (int axis = layout_.rank - 1; layout_.batched && axis >= 0; --axis) {
    const std::string n = number(axis);
    line("      const i64 c" + n + " = " + (axis > 0 ? "rest % a.kept[" + n + "]; rest /= a.kept[" + n + "];" : "rest;"));
  }
  for (int axis = layout_.reduced_rank - 1; axis >= 0; --axis) {
    const std::string n = number(axis);
    line("      const i64 q" + n + " = " + (axis > 0 ? "left_over % a.reduced[" + n + "]; left_over /= a.reduced[" + n + "];" : "left_over;"));
  }
  for (int output : passes_.across_stores()) {
    const int i = parameter_of(output);
    const int value = spec_.stores[static_cast<std::size_t>(output)];
    const std::string n = number(value), type = value_type(steps_.dtype(value)), post = steps_.post(value, "part" + number(spec_.accumulator_of(value)) + "[value]", layout_.batched ? "a.joined" : "a.n");
    std::string place = "0";
    for (int axis = 0; layout_.batched && axis < layout_.rank; ++axis) place += " + c" + number(axis) + " * a.k" + number(i) + "[" + number(axis) + "]";
    for (int axis = 0; !is_scalar(access(i)) && access(i) != Access::kRepeat && axis < layout_.reduced_rank; ++axis) place += " + q" + number(axis) + " * a.r" + number(i) + "[" + number(axis) + "]";
    line("      { const " + type + " v" + n + " = " + post + "; " + storing(output, "a.p" + number(i) + "[" + place + "]", [](int value) { return local_name(value); }) + " }");
  }
  line("    }\n  }");
  end();
}

/// Each task joins the chunks of `tile` rows, or of some neighbouring columns, and then goes through these as rows.
void CpuReducingEmitter::emit_finish() {
  Layout rows = layout_;
  rows.form = Form::kRows;
  CpuReducingEmitter finish(spec_, rows);
  if (columns()) {
    finish.begin_finish_of_parts("a.n");
    finish.line("      const i64 row = value;");
  } else {
    finish.begin(entry_names(spec_, layout_)[1]);
    finish.line("    const i64 from = task * a.tile, to = from + a.tile < a.n ? from + a.tile : a.n;");
    finish.line("    for (i64 row = from; row < to; ++row) {");
  }
  finish.emit_row_start("      ", "row", layout_.rank, "");
  finish.emit_row_values("      ", {}, passes_.first_row_steps());
  const Passes::Pass& pass = passes_.all()[0];
  if (!columns()) finish.line("      Partial* const of_row = static_cast<Partial*>(a.scratch) + row * a.chunks;");
  for (int join : pass.joins) {
    const std::string n = number(join);
    if (columns()) {
      finish.line("      const Joined" + n + " j" + n + " = part" + n + "[value];");
      continue;
    }
    finish.line("      for (i64 apart = 1; apart < a.chunks; apart *= 2) {");  // pairs, so that the error of a sum grows with the logarithm of chunks
    finish.line("        for (i64 k = 0; k + apart < a.chunks; k += 2 * apart) of_row[k].j" + n + " = reduce" + n + "(of_row[k].j" + n + ", of_row[k + apart].j" + n + ");\n      }");
    finish.line("      const Joined" + n + " j" + n + " = of_row[0].j" + n + ";");
  }
  finish.emit_row_results("      ", pass.given, pass.row_steps);
  finish.line("    }\n  }");
  finish.end();
  text_ += finish.text_;
}
}  // namespace damo
