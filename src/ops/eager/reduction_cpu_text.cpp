#include "ops/eager/reduction_writer.hpp"

namespace damo {
namespace {

// Unrolled, a short loop over partial values would not be vectorised as one.
constexpr const char* kLoop = "#pragma clang loop unroll(disable)";

class CpuReduction : ReductionWriter {
 public:
  CpuReduction(const ReductionDefinition& definition, const ReductionLayout& layout)
      : ReductionWriter(definition, layout) {}

  std::string print() {
    write_common();
    if (l_.form == ReductionForm::kRows)
      rows();
    else
      columns();
    if (!l_.finishes) finish();
    return std::move(text_);
  }

 private:
  /// A loop over `task`, one block each.
  void entry_point(const std::string& name, const char* entry) {
    line("extern \"C\" __global__ void " + name + "(const damo_arguments a) {");
    line(std::string("  ") + entry + "(a, blockIdx.x);\n}");
  }

  void range() {
    line("  const damo_long begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;");
  }

  /// Tasks: tiles of outputs, or the chunks of one.
  void rows() {
    const std::string lanes = number(l_.lanes);
    line("DAMO_FUNCTION void damo_rows(const damo_arguments& a, damo_long task) {");
    line("  const damo_long chunk = task % a.chunks, from = task / a.chunks * a.tile;");
    line("  const damo_long to = from + a.tile < a.outputs ? from + a.tile : a.outputs;");
    range();
    line("  for (damo_long output = from; output < to; ++output) {");
    kept_offsets("    ", "output", l_.kept_rank);
    line("    damo_value value = damo_neutral();");
    if (l_.lanes > 1)
      line("    damo_value many[" + lanes + "];\n    for (int k = 0; k < " + lanes +
           "; ++k) many[k] = damo_neutral();");
    segments();
    if (l_.lanes > 1) {
      line("    for (int half = " + number(l_.lanes / 2) + "; half > 0; half /= 2)");
      line("      for (int k = 0; k < half; ++k) many[k] = damo_reduce(many[k], many[k + half]);");
      line("    value = damo_reduce(many[0], value);");
    }
    line(l_.finishes ? "    a.out[output] = damo_post(value, a.length);"
                     : "    a.partial[" + partial("chunk") + "] = value;");
    line("  }\n}");
    entry_point(main_kernel(d_), "damo_rows");
  }

  /// Runs along the innermost reduced axis, over which offsets grow evenly.
  void segments() {
    const std::string lanes = number(l_.lanes), last = number(l_.reduced_rank - 1);
    const bool several = l_.reduced_rank > 1;
    const auto step = [&](const std::string& place) {
      return [this, place, several](std::size_t a, const std::string& name) {
        return (several ? " + d_" + name : std::string()) + reduced_step(a, name, place);
      };
    };
    line("    for (damo_long r = begin; r < end;) {");
    if (several) {
      line("      const damo_long c = r % a.reduced[" + last + "], left = a.reduced[" + last +
           "] - c, stop = end - r < left ? end - r : left;");
      reduced_offsets("      ", "r / a.reduced[" + last + "]", l_.reduced_rank - 1);
      each_offset([&](std::size_t a, const std::string& name) {
        line("      d_" + name + " += 0" + reduced_step(a, name, "c") + ";");
      });
    } else {
      line("      const damo_long c = 0, stop = end - r, first = r; (void)c;");
    }
    const std::string base = several ? "" : "first + ";
    line("      damo_long j = 0;");
    if (l_.lanes > 1) {
      line("      for (; j + " + lanes + " <= stop; j += " + lanes + ") {");
      line(kLoop);
      line("        for (int k = 0; k < " + lanes + "; ++k) many[k] = damo_reduce(many[k], " +
           map_call(step(base + "j + k"), "r + j + k") + ");");
      line("      }");
    }
    line("      for (; j < stop; ++j) value = damo_reduce(value, " + map_call(step(base + "j"), "r + j") + ");");
    line("      r += stop;\n    }");
  }

  /// Tasks: up to `lanes` neighbouring outputs of one row, or a chunk of them.
  void columns() {
    const std::string lanes = number(l_.lanes), extent = "a.kept[" + number(l_.kept_rank - 1) + "]";
    line("DAMO_FUNCTION void damo_columns(const damo_arguments& a, damo_long task) {");
    line("  const damo_long chunk = task % a.chunks, tile = task / a.chunks;");
    line("  const damo_long tiles = (" + extent + " + " + number(l_.lanes - 1) + ") / " + lanes + ";");
    line("  const damo_long row = tile / tiles, column = tile % tiles * " + lanes + ";");
    line("  const damo_long left = " + extent + " - column, count = left < " + lanes + " ? left : " + lanes +
         ", first = row * " + extent + " + column;");
    range();
    kept_offsets("  ", "row", l_.kept_rank - 1);
    line("  damo_value many[" + lanes + "];\n  for (damo_long k = 0; k < count; ++k) many[k] = damo_neutral();");
    line("  damo_long r = begin;");
    if (l_.reduced_rank == 1) column_bundles();
    line("  for (; r < end; ++r) {");
    reduced_offsets("    ", "r", l_.reduced_rank);
    const auto step = [&](std::size_t a, const std::string& name) {
      return " + d_" + name + column_step(a, name, "column + k");
    };
    line("    for (damo_long k = 0; k < count; ++k) many[k] = damo_reduce(many[k], " + map_call(step, "r") + ");");
    line("  }");
    line("  for (damo_long k = 0; k < count; ++k) {\n    const damo_long output = first + k;");
    line(l_.finishes ? "    a.out[output] = damo_post(many[k], a.length);"
                     : "    a.partial[" + partial("chunk") + "] = many[k];");
    line("  }\n}");
    entry_point(main_kernel(d_), "damo_columns");
  }

  /// Four rows at a time: four streams from memory, and a fourth of the traffic to the partial values.
  void column_bundles() {
    std::string value = "many[k]";
    for (int u = 0; u < 4; ++u) {
      const std::string place = "r + " + number(u);
      const auto step = [&](std::size_t a, const std::string& name) {
        return reduced_step(a, name, place) + column_step(a, name, "column + k");
      };
      value = "damo_reduce(" + value + ", " + map_call(step, place) + ")";
    }
    line("  for (; r + 4 <= end; r += 4) {");
    line("    for (damo_long k = 0; k < count; ++k) many[k] = " + value + ";");
    line("  }");
  }

  void finish() {
    line("DAMO_FUNCTION void damo_finish(const damo_arguments& a, damo_long task) {");
    line("  const damo_long from = task * a.tile, to = from + a.tile < a.outputs ? from + a.tile : a.outputs;");
    line("  for (damo_long output = from; output < to; ++output) {");
    line("    damo_value value = damo_neutral();");
    line("    for (damo_long k = 0; k < a.chunks; ++k) value = damo_reduce(value, a.partial[" + partial("k") + "]);");
    line("    a.out[output] = damo_post(value, a.length);\n  }\n}");
    entry_point(finish_kernel(d_), "damo_finish");
  }
};

}  // namespace

std::string cpu_reduction_text(const ReductionDefinition& definition, const ReductionLayout& layout) {
  return CpuReduction(definition, layout).print();
}

}  // namespace damo
