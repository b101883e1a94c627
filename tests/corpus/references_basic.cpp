// Element by element, matrices, reductions, scans, sorts.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "references.hpp"

namespace damo::corpus {
namespace {

const Reference kVectorAdd("vector_add", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) of(a, "c")[i] = of(a, "a")[i] + of(a, "b")[i];
});
const Reference kSaxpy("saxpy_grid_stride", [](Arrays& a) {
  for (int i = 0; i < 5000; ++i) of(a, "y")[i] += 2.5 * of(a, "x")[i];
});
const Reference kDouble("double_them", [](Arrays& a) {
  for (double& x : of(a, "a")) x *= 2;
});
const Reference kMultiply("multiply_them_template", [](Arrays& a) {
  for (int i = 0; i < 400; ++i) of(a, "dest")[i] = of(a, "a")[i] * of(a, "b")[i];
});

void transpose(Arrays& a, int rows, int columns) {
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) of(a, "out")[x * rows + y] = of(a, "in")[y * columns + x];
  }
}
const Reference kTransposeNaive("transpose_naive", [](Arrays& a) { transpose(a, 35, 50); });
const Reference kTransposeTiled("transpose_tiled", [](Arrays& a) { transpose(a, 64, 64); });

void product(const Values& a, const Values& b, Values& c, int m, int n, int k, double factor = 1) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      c[i * n + j] = factor * sum;
    }
  }
}
const Reference kMatmulNaive("matmul_naive", [](Arrays& a) { product(of(a, "A"), of(a, "B"), of(a, "C"), 30, 20, 40); });
const Reference kMatmulTiled("matmul_tiled", [](Arrays& a) { product(of(a, "a"), of(a, "b"), of(a, "c"), 64, 64, 64); });
const Reference kMatmulEdges("matmul_edges", [](Arrays& a) { product(of(a, "a"), of(a, "b"), of(a, "c"), 35, 41, 37, 1.5); });
const Reference kMatmulRegisters("matmul_registers", [](Arrays& a) { product(of(a, "a"), of(a, "b"), of(a, "c"), 64, 64, 64); });

void sums_of_blocks(Arrays& a, std::size_t block) {
  for (std::size_t i = 0; i < of(a, "out").size(); ++i) {
    const auto first = of(a, "in").begin() + static_cast<std::ptrdiff_t>(i * block);
    of(a, "out")[i] = std::accumulate(first, first + static_cast<std::ptrdiff_t>(block), 0.0);
  }
}
const Reference kReduceInterleaved("reduce_interleaved", [](Arrays& a) { sums_of_blocks(a, 256); });
const Reference kReduceSequential("reduce_sequential", [](Arrays& a) { sums_of_blocks(a, 512); });
const Reference kReduceUnrolled("reduce_unrolled", [](Arrays& a) {
  for (int block = 0; block < 4; ++block) {
    double sum = 0;
    for (int i = 0; i < 8192; ++i) sum += i / 512 % 4 == block ? of(a, "in")[i] : 0;
    of(a, "out")[block] = sum;
  }
});
void sum_of_all(Arrays& a) { of(a, "out")[0] = std::accumulate(of(a, "in").begin(), of(a, "in").end(), 0.0); }
const Reference kReduceShuffle("reduce_shuffle", sum_of_all);
const Reference kReduceGroups("reduce_groups", sum_of_all);
const Reference kReduceMax("reduce_max_float_cas", [](Arrays& a) {
  of(a, "out")[0] = *std::max_element(of(a, "in").begin(), of(a, "in").end());
});
const Reference kArgmax("argmax_shuffle", [](Arrays& a) {
  const auto best = std::max_element(of(a, "in").begin(), of(a, "in").end());
  of(a, "best")[0] = *best;
  of(a, "where")[0] = static_cast<double>(best - of(a, "in").begin());
});

void exclusive_scan(Arrays& a) { std::exclusive_scan(of(a, "in").begin(), of(a, "in").end(), of(a, "out").begin(), 0.0); }
const Reference kHillisSteele("scan_hillis_steele", exclusive_scan);
const Reference kBlelloch("scan_blelloch", exclusive_scan);
const Reference kScanWarp("scan_warp", [](Arrays& a) {
  std::partial_sum(of(a, "in").begin(), of(a, "in").end(), of(a, "out").begin());
});

void histogram(Arrays& a) {
  for (const double byte : of(a, "data")) ++of(a, "bins")[static_cast<std::size_t>(byte)];
}
const Reference kHistogramGlobal("histogram_global", histogram);
const Reference kHistogramShared("histogram_shared", histogram);

template <const char* Name>
void sort_array(Arrays& a) {
  std::sort(of(a, Name).begin(), of(a, Name).end());
}
constexpr char kKeys[] = "keys", kV[] = "v", kA[] = "a", kB[] = "b";
const Reference kBitonic("sort_bitonic", sort_array<kKeys>);
const Reference kBitonicGlobal("sort_bitonic_global", sort_array<kV>);
const Reference kOddEven("sort_odd_even", sort_array<kV>);
const Reference kRadix("sort_radix_pass", sort_array<kKeys>);
const Reference kMerge(
    "sort_rank_merge",
    [](Arrays& a) { std::merge(of(a, "a").begin(), of(a, "a").end(), of(a, "b").begin(), of(a, "b").end(), of(a, "out").begin()); },
    [](Arrays& a) { sort_array<kA>(a), sort_array<kB>(a); });

}  // namespace
}  // namespace damo::corpus
