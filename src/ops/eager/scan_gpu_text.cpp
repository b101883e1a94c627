#include "ops/eager/scan_writer.hpp"

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

class GpuScan : ScanWriter {
 public:
  GpuScan(const ScanDefinition& definition, const ScanLayout& layout) : ScanWriter(definition, layout) {}

  std::string print() {
    head();
    if (l_.form == ReductionForm::kRows)
      rows();
    else
      columns();
    return std::move(text_);
  }

 private:
  static constexpr const char* kShared = "  __shared__ damo_value memory[2048 + 256], totals[256];";

  void begin(const char* suffix) {
    line("extern \"C\" __global__ void __launch_bounds__(256) " + scan_kernel(d_) + suffix +
         "(const damo_arguments a) {");
  }

  void rows() {
    text_ += kGpuTile;
    row_chunk("", true);
    if (!l_.chunked) return;
    row_chunk("_totals", false);
    row_carries();
  }

  void row_chunk(const char* suffix, bool stores) {
    const std::string exclusive = d_.exclusive ? "true" : "false";
    begin(suffix);
    line(kShared);
    line("  const damo_long line = blockIdx.x, chunk = blockIdx.y;");
    line(range());
    line_start("  ", "line", l_.kept_rank);
    const bool continues = stores && l_.chunked;
    line(std::string("  bool has_before = ") + (continues ? "chunk > 0;" : "false;"));
    line(std::string("  damo_value before = ") +
         (continues ? "has_before ? a.partial[line * a.chunks + chunk] : damo_value();" : "damo_value();"));
    line("  for (damo_long at = begin; at < end; at += 2048) {");
    line("    const int count = end - at < 2048 ? (int)(end - at) : 2048;");
    line("    before = damo_tile(memory, totals, count, has_before, before, " + exclusive + ",");
    line("        [&](int k) { return damo_value(x[(at + k)" + step("x") + "]); },");
    if (stores)
      line("        [&](int k, damo_value value) { y[(at + k)" + step("y") + "] = damo_stored(value); });");
    else
      line("        [](int, damo_value) {});");
    line("    has_before = true;");
    line("  }");
    if (!stores) line("  if (threadIdx.x == 0) a.partial[line * a.chunks + chunk] = before;");
    line("}");
  }

  /// The scanned totals move on by one place, so the last of a tile would land on what the next has yet to load: there
  /// is one tile only (scan.cpp sees to it).
  void row_carries() {
    begin("_carries");
    line(kShared);
    line("  damo_value* const line = a.partial + blockIdx.x * a.chunks;");
    line("  const int count = (int)a.chunks;");
    line("  damo_tile(memory, totals, count, false, damo_value(), false, [&](int k) { return line[k]; },");
    line("      [&](int k, damo_value value) { if (k + 1 < count) line[k + 1] = value; });");
    line("}");
  }

  void columns() {
    column_chunk("", true);
    if (!l_.chunked) return;
    column_chunk("_totals", false);
    begin("_carries");
    line("  const damo_long line = (damo_long)blockIdx.x * 256 + threadIdx.x;");
    line("  if (line >= a.lines) return;");
    carry_loop("line", "k * a.lines + line");
    line("}");
  }

  void column_chunk(const char* suffix, bool stores) {
    begin(suffix);
    line("  const damo_long line = (damo_long)blockIdx.x * 256 + threadIdx.x, chunk = blockIdx.y;");
    line("  if (line >= a.lines) return;");
    line(range());
    line_start("  ", "line", l_.kept_rank);
    const bool continues = stores && l_.chunked;
    line(std::string("  bool has_before = ") + (continues ? "chunk > 0;" : "false;"));
    line(std::string("  damo_value value = ") +
         (continues ? "has_before ? a.partial[chunk * a.lines + line] : damo_value();" : "damo_value();"));
    line("  for (damo_long r = begin; r < end; r += 8) {");
    line("    damo_value loaded[8];  // at once: a load that follows a store would wait for it");
    line("#pragma unroll");
    line("    for (int u = 0; u < 8; ++u) if (r + u < end) loaded[u] = damo_value(x[(r + u) * a.r_x]);");
    line("#pragma unroll");
    line("    for (int u = 0; u < 8; ++u) {");
    line("      if (r + u >= end) break;");
    if (stores && d_.exclusive) line("      y[(r + u) * a.r_y] = damo_stored(has_before ? value : damo_neutral());");
    line("      value = has_before ? damo_reduce(value, loaded[u]) : loaded[u];");
    line("      has_before = true;");
    if (stores && !d_.exclusive) line("      y[(r + u) * a.r_y] = damo_stored(value);");
    line("    }");
    line("  }");
    if (!stores) line("  a.partial[chunk * a.lines + line] = value;");
    line("}");
  }
};

}  // namespace

std::string gpu_scan_text(const ScanDefinition& definition, const ScanLayout& layout) {
  return GpuScan(definition, layout).print();
}

}  // namespace damo
