#include "ops/eager/scan_writer.hpp"

namespace damo {
namespace {

// One tile of a block, whose elements the threads hold: element u * DAMO_BLOCK + t in held[u] of thread t. While it is
// scanned the loads of the next tile, which has next elements, are under way (568 -> 440 us for 2^27 floats on an
// H200). load(k): element k of the next tile; store(k, value): of this one. before: what goes before the tile, if
// has_before. Thread t owns elements 8 t to 8 t + 7; a gap after every 8 keeps the threads off each other's banks.
// Gives what goes before the next tile. Threads beyond the tile's end compute with what happens to be there, which
// reaches nobody: values move to later threads alone.
constexpr const char* kGpuTile = R"(
#define DAMO_SLOT(k) ((k) + ((k) >> 3))
template <bool kStores, class Load, class Store>
DAMO_FUNCTION damo_value damo_tile(damo_value* memory, damo_value* totals, damo_value (&held)[8], int count, int next, bool has_before, damo_value before, bool exclusive, Load load, Store store) {
  const int t = threadIdx.x;
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int k = u * DAMO_BLOCK + t;
    if (k < count) memory[DAMO_SLOT(k)] = held[u];
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int k = u * DAMO_BLOCK + t;
    if (k < next) held[u] = load(k);
  }
  const int first = t * 8, own = count - first < 8 ? count - first : 8;
  damo_value scanned[8];
  damo_value total = damo_value();
  if (own > 0) {
    total = memory[DAMO_SLOT(first)];
    scanned[0] = total;
#pragma unroll
    for (int j = 1; j < 8; ++j) {
      if (j < own) total = damo_reduce(total, memory[DAMO_SLOT(first + j)]);
      scanned[j] = total;
    }
  }
  const int lane = t % 32, warp = t / 32, last = (count - 1) / 8;
  totals[t] = total;
  __syncwarp();
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    damo_value joined = totals[t];
    if (lane >= d) joined = damo_reduce(totals[t - d], joined);
    __syncwarp();
    totals[t] = joined;
    __syncwarp();
  }
  __syncthreads();
  bool has_prefix = has_before;
  damo_value prefix = before, whole = before;
#pragma unroll
  for (int w = 0; w < DAMO_BLOCK / 32; ++w) {
    if (w > last / 32) break;
    if (w == warp) prefix = whole, has_prefix = has_before || w > 0;
    const damo_value of_warp = totals[w == last / 32 ? last : w * 32 + 31];
    whole = has_before || w > 0 ? damo_reduce(whole, of_warp) : of_warp;
  }
  if (kStores) {
    if (lane > 0 && own > 0) {
      prefix = has_prefix ? damo_reduce(prefix, totals[t - 1]) : totals[t - 1];
      has_prefix = true;
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      if (j >= own) break;
      damo_value value;
      if (exclusive) value = j > 0 ? (has_prefix ? damo_reduce(prefix, scanned[j - 1]) : scanned[j - 1]) : (has_prefix ? prefix : damo_neutral());
      else value = has_prefix ? damo_reduce(prefix, scanned[j]) : scanned[j];
      memory[DAMO_SLOT(first + j)] = value;
    }
    __syncthreads();
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      const int k = u * DAMO_BLOCK + t;
      if (k < count) store(k, memory[DAMO_SLOT(k)]);
    }
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
    line("#define DAMO_BLOCK " + std::to_string(kScanBlock) + "\n#define DAMO_TILE " + std::to_string(kScanTile));
    if (l_.form == ReductionForm::kRows)
      rows();
    else
      columns();
    return std::move(text_);
  }

 private:
  static constexpr const char* kShared =
      "  __shared__ damo_value memory[DAMO_TILE + DAMO_BLOCK], totals[DAMO_BLOCK];\n  damo_value held[8];";

  void begin(const char* suffix) {
    line("extern \"C\" __global__ void __launch_bounds__(DAMO_BLOCK) " + scan_kernel(d_) + suffix +
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
    line("  const auto elements = [&](damo_long at) {");
    line("    return at >= end ? 0 : end - at < DAMO_TILE ? (int)(end - at) : DAMO_TILE; };");
    line("#pragma unroll\n  for (int u = 0; u < 8; ++u) {\n    const int k = u * DAMO_BLOCK + threadIdx.x;");
    line("    if (k < elements(begin)) held[u] = damo_value(x[(begin + k)" + step("x") + "]);\n  }");
    line("  for (damo_long at = begin; at < end; at += DAMO_TILE) {");
    line(std::string("    before = damo_tile<") + (stores ? "true" : "false") +
         ">(memory, totals, held, elements(at), elements(at + DAMO_TILE), has_before, before, " + exclusive + ",");
    line("        [&](int k) { return damo_value(x[(at + DAMO_TILE + k)" + step("x") + "]); },");
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
    line("#pragma unroll\n  for (int u = 0; u < 8; ++u) {\n    const int k = u * DAMO_BLOCK + threadIdx.x;");
    line("    if (k < count) held[u] = line[k];\n  }");
    line("  damo_tile<true>(memory, totals, held, count, 0, false, damo_value(), false,");
    line(
        "      [](int) { return damo_value(); }, [&](int k, damo_value value) { if (k + 1 < count) line[k + 1] = "
        "value; });");
    line("}");
  }

  void columns() {
    column_chunk("", true);
    if (!l_.chunked) return;
    column_chunk("_totals", false);
    begin("_carries");
    line("  const damo_long line = (damo_long)blockIdx.x * DAMO_BLOCK + threadIdx.x;");
    line("  if (line >= a.lines) return;");
    carry_loop("line", "k * a.lines + line");
    line("}");
  }

  void column_chunk(const char* suffix, bool stores) {
    begin(suffix);
    line("  const damo_long line = (damo_long)blockIdx.x * DAMO_BLOCK + threadIdx.x, chunk = blockIdx.y;");
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
    if (stores && d_.exclusive)
      line("      y[(r + u) * a.r_y] = damo_stored(has_before ? value : damo_neutral());");
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
