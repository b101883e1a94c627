#include "ops/eager/scan_text.hpp"

#include "ops/eager/snippet.hpp"
#include "runtime/kernel/body.hpp"

namespace damo {
namespace {

// One tile of a block. load(k): element k of the tile, store(k, value); before: what goes before the tile, if
// has_before. Thread t owns elements 8 t to 8 t + 7; a gap after every 8 keeps the threads off each other's banks.
// Gives what goes before the next tile. Threads beyond the tile's end compute with what happens to be there, which
// reaches nobody: values move to later threads alone.
constexpr const char* kGpuTile = R"(
#define SLOT(k) ((k) + ((k) >> 3))
template <class Load, class Store>
DAMO_FUNCTION damo_value damo_tile(damo_value* memory, damo_value* totals, int count, bool has_before, damo_value before, bool exclusive, Load load, Store store) {
  const int t = threadIdx.x;
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int k = u * 256 + t;
    if (k < count) memory[SLOT(k)] = load(k);
  }
  __syncthreads();
  const int first = t * 8, own = count - first < 8 ? count - first : 8;
  damo_value scanned[8];
  damo_value total = damo_value();
  if (own > 0) {
    total = memory[SLOT(first)];
    scanned[0] = total;
#pragma unroll
    for (int j = 1; j < 8; ++j) {
      if (j < own) total = damo_reduce(total, memory[SLOT(first + j)]);
      scanned[j] = total;
    }
  }
  totals[t] = total;
  __syncthreads();
#pragma unroll
  for (int d = 1; d < 256; d *= 2) {
    damo_value joined = totals[t];
    if (t >= d) joined = damo_reduce(totals[t - d], joined);
    __syncthreads();
    totals[t] = joined;
    __syncthreads();
  }
  const int last = (count - 1) / 8;
  const damo_value whole = has_before ? damo_reduce(before, totals[last]) : totals[last];
  bool has_prefix = has_before;
  damo_value prefix = before;
  if (t > 0 && own > 0) {
    prefix = has_before ? damo_reduce(before, totals[t - 1]) : totals[t - 1];
    has_prefix = true;
  }
  if (own > 0) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (j >= own) break;
      damo_value value;
      if (exclusive) value = j > 0 ? (has_prefix ? damo_reduce(prefix, scanned[j - 1]) : scanned[j - 1]) : (has_prefix ? prefix : damo_neutral());
      else value = has_prefix ? damo_reduce(prefix, scanned[j]) : scanned[j];
      memory[SLOT(first + j)] = value;
    }
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int k = u * 256 + t;
    if (k < count) store(k, memory[SLOT(k)]);
  }
  __syncthreads();
  return whole;
}
)";

class ScanPrinter {
 public:
  ScanPrinter(const ScanDefinition& definition, const ScanLayout& layout) : d_(definition), l_(layout) {}

  std::string print() {
    head();
    if (l_.gpu) {
      if (l_.form == ReductionForm::kRows)
        gpu_rows();
      else
        gpu_columns();
    } else {
      if (l_.form == ReductionForm::kRows)
        cpu_rows();
      else
        cpu_columns();
    }
    return std::move(text_);
  }

 private:
  bool generated() const { return d_.kind == SourceKind::kGenerated; }
  void line(const std::string& text) { text_ += text + "\n"; }
  void function(const std::string& signature, const SourceText& expression) {
    line("DAMO_FUNCTION damo_value " + signature + " {\nreturn damo_value(");
    text_ += line_directive(expression) + expression.text + "\n" + kGeneratedLine + ");\n}\n";
  }

  void head() {
    const DType dtypes[] = {d_.dtype};
    if (!generated()) text_ += includes_for(dtypes);
    const bool host = generated() && !l_.gpu;
    if (host) line("using namespace damo;");
    line(host ? "#define DAMO_FUNCTION static inline __attribute__((always_inline))"
              : "#define DAMO_FUNCTION static __device__ __forceinline__");
    if (!d_.preamble.text.empty()) text_ += line_directive(d_.preamble) + d_.preamble.text + "\n" + kGeneratedLine;
    line("typedef long long damo_long;");
    line(std::string("typedef ") + (l_.wide ? "unsigned long long" : "unsigned int") + " damo_position;");
    line("typedef " + d_.accumulator + " damo_value;\ntypedef " +
         (generated() ? storage_type(d_.dtype) : c_type(d_.dtype)) + " damo_stored;");
    line("struct damo_arguments {\n  const damo_stored* x;\n  damo_stored* y;\n  damo_value* partial;");
    line("  damo_long lines, length, chunk, chunks, r_x, r_y;");
    const std::string rank = "[" + std::to_string(l_.kept_rank) + "]";
    if (l_.kept_rank > 0) line("  damo_long kept" + rank + ", k_x" + rank + ", k_y" + rank + ";");
    line("};");
    function("damo_reduce(damo_value a, damo_value b)", d_.reduce);
    if (d_.exclusive)
      function("damo_neutral()", d_.neutral);
    else
      line("#define damo_neutral() damo_value()");
  }

  /// x and y: where the line begins; for columns without the innermost kept axis.
  void line_start(const std::string& indent, const std::string& number, int axes) {
    line(indent + "const damo_stored* x = a.x;\n" + indent + "damo_stored* y = a.y;");
    if (axes == 0) return;
    line(indent + "{ damo_position rest = damo_position(" + number + ");");
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::string at = "[" + std::to_string(axis) + "]", extent = "damo_position(a.kept" + at + ")";
      line(indent +
           "  { const damo_long c = " + (axis > 0 ? "rest % " + extent + "; rest /= " + extent : std::string("rest")) +
           "; x += c * a.k_x" + at + "; y += c * a.k_y" + at + "; }");
    }
    line(indent + "}");
  }
  std::string range() const {
    return "  const damo_long begin = chunk * a.chunk, end = begin + a.chunk < a.length ? begin + a.chunk : a.length;";
  }
  /// " * stride" along the scanned axis in rows.
  std::string step(const char* array) const {
    return l_.form == ReductionForm::kRows && l_.unit ? "" : std::string(" * a.r_") + array;
  }
  std::string entry(const char* suffix) const { return scan_kernel(d_) + suffix; }
  void gpu_entry(const char* suffix) {
    line("extern \"C\" __global__ void __launch_bounds__(256) " + entry(suffix) + "(const damo_arguments a) {");
  }

  void gpu_rows() {
    text_ += kGpuTile;
    const std::string shared = "  __shared__ damo_value memory[2048 + 256], totals[256];";
    const std::string exclusive = d_.exclusive ? "true" : "false";
    const auto chunk = [&](const char* suffix, bool stores) {
      gpu_entry(suffix);
      line(shared + "\n  const damo_long line = blockIdx.x, chunk = blockIdx.y;\n" + range());
      line_start("  ", "line", l_.kept_rank);
      if (stores && l_.chunked)
        line(
            "  bool has_before = chunk > 0;\n  damo_value before = has_before ? a.partial[line * a.chunks + chunk] : "
            "damo_value();");
      else
        line("  bool has_before = false;\n  damo_value before = damo_value();");
      line(
          "  for (damo_long at = begin; at < end; at += 2048) {\n    const int count = end - at < 2048 ? (int)(end - "
          "at) : 2048;");
      line("    before = damo_tile(memory, totals, count, has_before, before, " + exclusive + ",");
      line("        [&](int k) { return damo_value(x[(at + k)" + step("x") + "]); },");
      line(stores ? "        [&](int k, damo_value value) { y[(at + k)" + step("y") + "] = damo_stored(value); });"
                  : "        [](int, damo_value) {});");
      line("    has_before = true;\n  }");
      if (!stores) line("  if (threadIdx.x == 0) a.partial[line * a.chunks + chunk] = before;");
      line("}");
    };
    chunk("", true);
    if (!l_.chunked) return;
    chunk("_totals", false);
    // The scanned totals move on by one place, so the last of a tile would land on what the next has yet to load: there
    // is one tile only (scan.cpp sees to it).
    gpu_entry("_carries");
    line(shared +
         "\n  damo_value* const line = a.partial + blockIdx.x * a.chunks;\n  bool has_before = false;\n  damo_value "
         "before = damo_value();");
    line(
        "  for (damo_long at = 0; at < a.chunks; at += 2048) {\n    const int count = a.chunks - at < 2048 ? "
        "(int)(a.chunks - at) : 2048;");
    line(
        "    before = damo_tile(memory, totals, count, has_before, before, false, [&](int k) { return line[at + k]; "
        "},");
    line("        [&](int k, damo_value value) { if (at + k + 1 < a.chunks) line[at + k + 1] = value; });");
    line("    has_before = true;\n  }\n}");
  }

  void gpu_columns() {
    const auto chunk = [&](const char* suffix, bool stores) {
      gpu_entry(suffix);
      line(
          "  const damo_long line = (damo_long)blockIdx.x * 256 + threadIdx.x, chunk = blockIdx.y;\n  if (line >= "
          "a.lines) return;\n" +
          range());
      line_start("  ", "line", l_.kept_rank);
      line(std::string("  bool has_before = ") + (stores && l_.chunked ? "chunk > 0" : "false") + ";");
      line(std::string("  damo_value value = ") +
           (stores && l_.chunked ? "chunk > 0 ? a.partial[chunk * a.lines + line] : damo_value()" : "damo_value()") +
           ";");
      line("  for (damo_long r = begin; r < end; r += 8) {\n    damo_value loaded[8];");
      line(
          "#pragma unroll\n    for (int u = 0; u < 8; ++u) if (r + u < end) loaded[u] = damo_value(x[(r + u) * "
          "a.r_x]);");
      line("#pragma unroll\n    for (int u = 0; u < 8; ++u) {\n      if (r + u >= end) break;");
      if (stores && d_.exclusive) line("      y[(r + u) * a.r_y] = damo_stored(has_before ? value : damo_neutral());");
      line("      value = has_before ? damo_reduce(value, loaded[u]) : loaded[u];\n      has_before = true;");
      if (stores && !d_.exclusive) line("      y[(r + u) * a.r_y] = damo_stored(value);");
      line("    }\n  }");
      if (!stores) line("  a.partial[chunk * a.lines + line] = value;");
      line("}");
    };
    chunk("", true);
    if (!l_.chunked) return;
    chunk("_totals", false);
    gpu_entry("_carries");
    line("  const damo_long line = (damo_long)blockIdx.x * 256 + threadIdx.x;\n  if (line >= a.lines) return;");
    line("  damo_value before = a.partial[line];\n  for (damo_long k = 1; k < a.chunks; ++k) {");
    line(
        "    damo_value& place = a.partial[k * a.lines + line];\n    const damo_value own = place;\n    place = "
        "before;\n    before = damo_reduce(before, own);\n  }\n}");
  }

  void cpu_entry(const char* suffix, const char* task) {
    if (!generated()) {
      line("extern \"C\" __global__ void " + entry(suffix) + "(const damo_arguments a) { " + task +
           "(a, blockIdx.x); }");
      return;
    }
    line("extern \"C\" void " + entry(suffix) + "(void* const* arguments, const LaunchFrame*, i64 first, i64 last) {");
    line("  const damo_arguments& a = *static_cast<const damo_arguments*>(arguments[0]);");
    line(std::string("  for (i64 task = first; task < last; ++task) ") + task + "(a, task);\n}");
  }

  void cpu_rows() {
    const auto chunk = [&](const char* suffix, const char* task, bool stores) {
      line(std::string("DAMO_FUNCTION void ") + task + "(const damo_arguments& a, damo_long task) {");
      line("  const damo_long line = task / a.chunks, chunk = task % a.chunks;\n" + range());
      line_start("  ", "line", l_.kept_rank);
      line("  damo_value value = damo_value(x[begin" + step("x") + "]);");
      if (stores) {
        if (l_.chunked)
          line(
              "  const bool has_before = chunk > 0;\n  const damo_value before = has_before ? a.partial[line * "
              "a.chunks + chunk] : damo_value();");
        else
          line("  const bool has_before = false;\n  const damo_value before = damo_value();");
        if (d_.exclusive) line("  y[begin" + step("y") + "] = damo_stored(has_before ? before : damo_neutral());");
        line("  if (has_before) value = damo_reduce(before, value);");
        if (!d_.exclusive) line("  y[begin" + step("y") + "] = damo_stored(value);");
      }
      line("  for (damo_long r = begin + 1; r < end; ++r) {\n    const damo_value next = damo_value(x[r" + step("x") +
           "]);");
      if (stores && d_.exclusive) line("    y[r" + step("y") + "] = damo_stored(value);");
      line("    value = damo_reduce(value, next);");
      if (stores && !d_.exclusive) line("    y[r" + step("y") + "] = damo_stored(value);");
      line("  }");
      if (!stores) line("  a.partial[line * a.chunks + chunk] = value;");
      line("}");
      cpu_entry(suffix, task);
    };
    chunk("", "damo_go_through", true);
    if (!l_.chunked) return;
    chunk("_totals", "damo_join", false);
    line("DAMO_FUNCTION void damo_carry(const damo_arguments& a, damo_long line) {");
    line("  damo_value before = a.partial[line * a.chunks];\n  for (damo_long k = 1; k < a.chunks; ++k) {");
    line(
        "    damo_value& place = a.partial[line * a.chunks + k];\n    const damo_value own = place;\n    place = "
        "before;\n    before = damo_reduce(before, own);\n  }\n}");
    cpu_entry("_carries", "damo_carry");
  }

  void cpu_columns() {
    const std::string columns = "a.kept[" + std::to_string(l_.kept_rank - 1) + "]",
                      last = "[" + std::to_string(l_.kept_rank - 1) + "]";
    const std::string x = std::string("x[(column + k)") + (l_.unit ? "" : " * a.k_x" + last) + " + r * a.r_x]";
    const std::string y = std::string("y[(column + k)") + (l_.unit ? "" : " * a.k_y" + last) + " + r * a.r_y]";
    const auto chunk = [&](const char* suffix, const char* task, bool stores) {
      line(std::string("DAMO_FUNCTION void ") + task + "(const damo_arguments& a, damo_long task) {");
      line("  const damo_long chunk = task % a.chunks, tile = task / a.chunks, tiles = (" + columns +
           " + 511) / 512, row = tile / tiles, column = tile % tiles * 512;");
      line("  const damo_long left = " + columns + " - column, count = left < 512 ? left : 512, first = row * " +
           columns + " + column;\n" + range());
      line_start("  ", "row", l_.kept_rank - 1);
      line("  damo_value many[512];\n  damo_long r = begin;");
      line("  for (damo_long k = 0; k < count; ++k) {\n    damo_value value = damo_value(" + x + ");");
      if (stores && l_.chunked)
        line(
            "    const bool has_before = chunk > 0;\n    const damo_value before = has_before ? a.partial[chunk * "
            "a.lines + first + k] : damo_value();");
      if (stores && d_.exclusive)
        line(std::string("    ") + y + " = damo_stored(" +
             (l_.chunked ? "has_before ? before : damo_neutral()" : "damo_neutral()") + ");");
      if (stores && l_.chunked) line("    if (has_before) value = damo_reduce(before, value);");
      if (stores && !d_.exclusive) line("    " + y + " = damo_stored(value);");
      line("    many[k] = value;\n  }");
      line(
          "  for (r = begin + 1; r < end; ++r) {\n    for (damo_long k = 0; k < count; ++k) {\n      const damo_value "
          "next = damo_value(" +
          x + ");");
      if (stores && d_.exclusive) line("      " + y + " = damo_stored(many[k]);");
      line("      many[k] = damo_reduce(many[k], next);");
      if (stores && !d_.exclusive) line("      " + y + " = damo_stored(many[k]);");
      line("    }\n  }");
      if (!stores)
        line("  for (damo_long k = 0; k < count; ++k) a.partial[chunk * a.lines + first + k] = many[k];");
      else
        line("  (void)first;");
      line("}");
      cpu_entry(suffix, task);
    };
    chunk("", "damo_go_through", true);
    if (!l_.chunked) return;
    chunk("_totals", "damo_join", false);
    line("DAMO_FUNCTION void damo_carry(const damo_arguments& a, damo_long line) {");
    line("  damo_value before = a.partial[line];\n  for (damo_long k = 1; k < a.chunks; ++k) {");
    line(
        "    damo_value& place = a.partial[k * a.lines + line];\n    const damo_value own = place;\n    place = "
        "before;\n    before = damo_reduce(before, own);\n  }\n}");
    cpu_entry("_carries", "damo_carry");
  }

  const ScanDefinition& d_;
  const ScanLayout& l_;
  std::string text_;
};

}  // namespace

std::string scan_text(const ScanDefinition& definition, const ScanLayout& layout) {
  return ScanPrinter(definition, layout).print();
}

}  // namespace damo
