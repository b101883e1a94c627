#include "ops/eager/scan_writer.hpp"

namespace damo {
namespace {

class CpuScan : ScanWriter {
 public:
  CpuScan(const ScanDefinition& definition, const ScanLayout& layout) : ScanWriter(definition, layout) {}

  std::string print() {
    head();
    if (l_.form == ReductionForm::kRows)
      rows();
    else
      columns();
    return std::move(text_);
  }

 private:
  void entry_point(const char* suffix, const char* task) {
    const std::string name = scan_kernel(d_) + suffix;
    if (!generated()) {
      line("extern \"C\" __global__ void " + name + "(const damo_arguments a) { " + task + "(a, blockIdx.x); }");
      return;
    }
    line("extern \"C\" void " + name + "(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {");
    line("  const damo_arguments& a = *static_cast<const damo_arguments*>(arguments[0]);");
    line(std::string("  for (i64 task = first; task < last; ++task) ") + task + "(a, task);");
    line("}");
  }

  /// has_before and before: what goes before the chunk; the place of its carry.
  void before(const std::string& indent, const std::string& place) {
    line(indent + "const bool has_before = " + (l_.chunked ? "chunk > 0;" : "false;"));
    line(indent + "const damo_value before = " +
         (l_.chunked ? "has_before ? a.partial[" + place + "] : damo_value();" : "damo_value();"));
  }

  /// The first element of a chunk, in `value`, meets what goes before it.
  void first(const std::string& indent, const std::string& y) {
    if (d_.exclusive) line(indent + y + " = damo_stored(has_before ? before : damo_neutral());");
    line(indent + "if (has_before) value = damo_reduce(before, value);");
    if (!d_.exclusive) line(indent + y + " = damo_stored(value);");
  }
  /// Another one, which joins `value`; x is read before y is written, for they may be the same.
  void next(const std::string& indent, const std::string& value, const std::string& x, const std::string& y,
            bool stores) {
    line(indent + "const damo_value next = damo_value(" + x + ");");
    if (stores && d_.exclusive) line(indent + y + " = damo_stored(" + value + ");");
    line(indent + value + " = damo_reduce(" + value + ", next);");
    if (stores && !d_.exclusive) line(indent + y + " = damo_stored(" + value + ");");
  }

  void rows() {
    row_chunk("", "damo_go_through", true);
    if (!l_.chunked) return;
    row_chunk("_totals", "damo_join", false);
    carries("line * a.chunks", "line * a.chunks + k");
  }

  void row_chunk(const char* suffix, const char* task, bool stores) {
    line(std::string("DAMO_FUNCTION void ") + task + "(const damo_arguments& a, damo_long task) {");
    line("  const damo_long line = task / a.chunks, chunk = task % a.chunks;");
    line(range());
    line_start("  ", "line", l_.kept_rank);
    line("  damo_value value = damo_value(x[begin" + step("x") + "]);");
    if (stores) {
      before("  ", "line * a.chunks + chunk");
      first("  ", "y[begin" + step("y") + "]");
    }
    line("  for (damo_long r = begin + 1; r < end; ++r) {");
    next("    ", "value", "x[r" + step("x") + "]", "y[r" + step("y") + "]", stores);
    line("  }");
    if (!stores) line("  a.partial[line * a.chunks + chunk] = value;");
    line("}");
    entry_point(suffix, task);
  }

  void columns() {
    column_chunk("", "damo_go_through", true);
    if (!l_.chunked) return;
    column_chunk("_totals", "damo_join", false);
    carries("line", "k * a.lines + line");
  }

  void column_chunk(const char* suffix, const char* task, bool stores) {
    const std::string last = "[" + std::to_string(l_.kept_rank - 1) + "]", extent = "a.kept" + last,
                      width = std::to_string(kScanColumns);
    const std::string x = "x[(column + k)" + (l_.unit ? "" : " * a.k_x" + last) + " + r * a.r_x]";
    const std::string y = "y[(column + k)" + (l_.unit ? "" : " * a.k_y" + last) + " + r * a.r_y]";
    line(std::string("DAMO_FUNCTION void ") + task + "(const damo_arguments& a, damo_long task) {");
    line("  const damo_long chunk = task % a.chunks, tile = task / a.chunks;");
    line("  const damo_long tiles = (" + extent + " + " + std::to_string(kScanColumns - 1) + ") / " + width +
         ", row = tile / tiles;");
    line("  const damo_long column = tile % tiles * " + width + ", left = " + extent + " - column;");
    line("  const damo_long count = left < " + width + " ? left : " + width + ", line = row * " + extent +
         " + column; (void)line;");
    line(range());
    line_start("  ", "row", l_.kept_rank - 1);
    line("  damo_value many[" + width + "];");
    line("  damo_long r = begin;");
    line("  for (damo_long k = 0; k < count; ++k) {");
    line("    damo_value value = damo_value(" + x + ");");
    if (stores) {
      before("    ", "chunk * a.lines + line + k");
      first("    ", y);
    }
    line("    many[k] = value;");
    line("  }");
    line("  for (r = begin + 1; r < end; ++r) {");
    line("    for (damo_long k = 0; k < count; ++k) {");
    next("      ", "many[k]", x, y, stores);
    line("    }");
    line("  }");
    if (!stores) line("  for (damo_long k = 0; k < count; ++k) a.partial[chunk * a.lines + line + k] = many[k];");
    line("}");
    entry_point(suffix, task);
  }

  void carries(const std::string& first, const std::string& place) {
    line("DAMO_FUNCTION void damo_carry(const damo_arguments& a, damo_long line) {");
    carry_loop(first, place);
    line("}");
    entry_point("_carries", "damo_carry");
  }
};

}  // namespace

std::string cpu_scan_text(const ScanDefinition& definition, const ScanLayout& layout) {
  return CpuScan(definition, layout).print();
}

}  // namespace damo
