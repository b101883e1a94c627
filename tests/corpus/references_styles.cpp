// Kernels of the styles in which programs were written over the years.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>

#include "references.hpp"

namespace damo::corpus {
namespace {

double sum_of(const Values& x, int first, int count) { return std::accumulate(x.begin() + first, x.begin() + first + count, 0.0); }

const Reference kReduce("reduce_warp_synchronous", [](Arrays& a) {
  for (int b = 0; b < 8; ++b) of(a, "out")[b] = sum_of(of(a, "in"), b * 512, 512);
  for (int b = 0; b < 4; ++b) of(a, "sums")[b] = sum_of(of(a, "keys"), b * 256, 256) + sum_of(of(a, "keys"), 1024 + b * 256, 256);
});
const Reference kArgmin("argmin_warp_synchronous", [](Arrays& a) {
  const Values& in = of(a, "in");
  for (int b = 0; b < 4; ++b) {
    const auto least = std::min_element(in.begin() + b * 128, in.begin() + b * 128 + 128);
    of(a, "least")[b] = *least;
    of(a, "where")[b] = static_cast<double>(least - in.begin());
  }
});
const Reference kScan("scan_warp_synchronous", [](Arrays& a) {
  for (int b = 0; b < 4; ++b) {
    const auto first = of(a, "in").begin() + b * 256;
    std::partial_sum(first, first + 256, of(a, "out").begin() + b * 256);
  }
});
const Reference kFlag("flag_in_shared", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) of(a, "out")[i] = i % 64 < 32 ? 7 + i / 64 : i % 64 == 50 ? 0 : -1;
  for (int b = 0; b < 2; ++b) {
    int sum = 0;
    for (int t = 31; t >= 0; --t) of(a, "turns")[b * 32 + t] = sum = 3 * sum % 1009 + t;
  }
});
const Reference kLookback("scan_lookback", [](Arrays& a) { std::partial_sum(of(a, "in").begin(), of(a, "in").end(), of(a, "out").begin()); });
const Reference kProgram("whole_program", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) of(a, "c")[i] = 2 * (of(a, "a")[i] + of(a, "b")[i]);
});

/// Of the first count; e to each less the greatest, and the sum of that.
double softmax(const double* x, int count, double scale, double* y) {
  double sum = 0;
  const double top = *std::max_element(x, x + count);
  for (int i = 0; i < count; ++i) sum += y[i] = std::exp(scale * (x[i] - top));
  for (int i = 0; i < count; ++i) y[i] /= sum;
  return sum;
}
const Reference kPairs("softmax_pairs_groups", [](Arrays& a) {
  for (int row = 0; row < 32; ++row) softmax(&of(a, "x")[row * 100], 100, 1, &of(a, "y")[row * 100]);
  of(a, "z") = of(a, "y");
});
const Reference kByPointer("block_reduce_by_pointer", [](Arrays& a) {
  for (int b = 0; b < 4; ++b) {
    const auto first = of(a, "x").begin() + b * 500;
    Values unused(500);
    of(a, "out")[2 * b] = *std::max_element(first, first + 500);
    of(a, "out")[2 * b + 1] = softmax(&*first, 500, 1, unused.data());
  }
});

void layernorm(const Values& x, const Values& w, const Values& b, Values& y, int columns) {
  for (int row = 0; row < static_cast<int>(x.size()) / columns; ++row) {
    const double mean = sum_of(x, row * columns, columns) / columns;
    double variance = 0;
    for (int c = 0; c < columns; ++c) variance += std::pow(x[row * columns + c] - mean, 2) / columns;
    for (int c = 0; c < columns; ++c) y[row * columns + c] = (x[row * columns + c] - mean) / std::sqrt(variance + 1e-5) * w[c] + b[c];
  }
}
const Reference kPacked("layernorm_packed", [](Arrays& a) {
  layernorm(of(a, "x"), of(a, "w"), of(a, "b"), of(a, "y"), 128);
  layernorm(of(a, "hx"), of(a, "hw"), of(a, "hb"), of(a, "hy"), 128);
});
const Reference kBackward("layernorm_backward_groups", [](Arrays& a) {
  const Values &x = of(a, "x"), &w = of(a, "w"), &dy = of(a, "dy");
  for (int row = 0; row < 40; ++row) {
    const int at = row * 96;
    const double mean = sum_of(x, at, 96) / 96;
    double variance = 0, first = 0, second = 0;
    for (int c = 0; c < 96; ++c) variance += std::pow(x[at + c] - mean, 2) / 96;
    const double r = 1 / std::sqrt(variance + 1e-5);
    for (int c = 0; c < 96; ++c) {
      const double normal = (x[at + c] - mean) * r;
      first += w[c] * dy[at + c] / 96;
      second += w[c] * dy[at + c] * normal / 96;
      of(a, "dw")[c] += normal * dy[at + c];
      of(a, "db")[c] += dy[at + c];
    }
    for (int c = 0; c < 96; ++c) of(a, "dx")[at + c] = (w[c] * dy[at + c] - first - (x[at + c] - mean) * r * second) * r;
  }
  of(a, "dbias") = of(a, "db");
});
const Reference kCausal("attention_causal_warp", [](Arrays& a) {
  for (int t = 0; t < 64; ++t) {
    Values scores(64);
    for (int u = 0; u <= t; ++u) {
      for (int d = 0; d < 32; ++d) scores[u] += of(a, "q")[t * 32 + d] * of(a, "k")[u * 32 + d];
    }
    softmax(scores.data(), t + 1, 1 / std::sqrt(32.0), scores.data());
    for (int d = 0; d < 32; ++d) {
      for (int u = 0; u <= t; ++u) of(a, "out")[t * 32 + d] += scores[u] * of(a, "v")[u * 32 + d];
    }
  }
});
const Reference kClassifier("classifier_fused", [](Arrays& a) {
  for (int row = 0; row < 12; ++row) {
    double* const x = &of(a, "logits")[row * 1536];
    const int target = static_cast<int>(of(a, "targets")[row]);
    softmax(x, 1501, 1, x);
    of(a, "losses")[row] = -std::log(x[target]);
    for (int i = 0; i < 1501; ++i) x[i] = (x[i] - (i == target)) * 0.125;
  }
});
const Reference kAdamwGroups("adamw_groups_of_weights", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) {
    const double g = of(a, "g")[i], m = of(a, "m")[i] = 0.1 * g, v = of(a, "v")[i] = 0.05 * g * g, old = of(a, "master")[i];
    of(a, "p")[i] = of(a, "master")[i] = old - 0.001 * (m / 0.1 / (std::sqrt(v / 0.05) + 1e-8) + 0.1 * old);
  }
});
const Reference kRmsnormHalf("rmsnorm_vectors_half", [](Arrays& a) {
  for (int row = 0; row < 8; ++row) {
    double squares = 0, top = -9;
    for (int c = 0; c < 256; ++c) {
      const double x = of(a, "x")[row * 256 + c];
      squares += x * x;
      top = std::max(top, x);
      of(a, "act")[row * 256 + c] = x / (1 + std::exp(-x));
    }
    of(a, "top")[row] = top;
    for (int c = 0; c < 256; ++c) of(a, "y")[row * 256 + c] = of(a, "x")[row * 256 + c] / std::sqrt(squares / 256 + 1e-6) * of(a, "w")[c];
  }
});

void sort_parts(Values& v, int part) {
  for (auto first = v.begin(); first != v.end(); first += part) std::sort(first, first + part);
}
const Reference kWarpSort("sort_bitonic_warp", [](Arrays& a) { sort_parts(of(a, "keys"), 32), sort_parts(of(a, "packed"), 32); });
const Reference kRadixSplit("sort_radix_split", [](Arrays& a) { sort_parts(of(a, "keys"), 256); });
const Reference kStencil("stencil_3d_planes", [](Arrays& a) {
  const Values& in = of(a, "in");
  const auto at = [&](int x, int y, int z) { return x < 0 || y < 0 || z < 0 || x > 31 || y > 15 || z > 15 ? 0.0 : in[(z * 16 + y) * 32 + x]; };
  for (int i = 0; i < 8192; ++i) {
    const int x = i % 32, y = i / 32 % 16, z = i / 512;
    const double around = at(x - 1, y, z) + at(x + 1, y, z) + at(x, y - 1, z) + at(x, y + 1, z) + at(x, y, z - 1) + at(x, y, z + 1);
    of(a, "out")[i] = 0.5 * at(x, y, z) + 0.1 * around;
  }
});
const Reference kMedian("median_shared", [](Arrays& a) {
  for (int i = 0; i < 1200; ++i) {
    Values near;
    for (int j = 0; j < 9; ++j) {
      const int x = std::clamp(i % 40 + j % 3 - 1, 0, 39), y = std::clamp(i / 40 + j / 3 - 1, 0, 29);
      near.push_back(of(a, "in")[y * 40 + x]);
    }
    std::sort(near.begin(), near.end());
    of(a, "out")[i] = near[4];
  }
});
const Reference kLock("lock_by_cas", [](Arrays& a) {
  of(a, "sums") = {256, 256};
  const auto [least, greatest] = std::minmax_element(of(a, "x").begin(), of(a, "x").end());
  of(a, "bounds") = {std::min(0.0, *least), std::max(0.0, *greatest)};
});
const Reference kSegments("segmented_sum_atomics", [](Arrays& a) {
  for (int i = 0; i < 1024; ++i) {
    const auto label = static_cast<std::size_t>(of(a, "labels")[i]);
    of(a, "sums")[label] += of(a, "x")[i];
    ++of(a, "counts")[label];
  }
});
const Reference kTemplates("styles_of_templates", [](Arrays& a) {
  const Values& x = of(a, "x");
  for (int i = 0; i < 512; ++i) {
    of(a, "t")[i] = 6 * x[i] + 6;
    of(a, "u")[i / 128] += x[i];
    of(a, "w")[i] = x[i / 128 * 128 + 127 - i % 128];
    std::complex<double> z(x[i], 0.5);
    for (int k = 0; k < 3 && (k == 0 || std::norm(z) <= 4); ++k) z = z * z + std::complex<double>(0.1, x[i]);
    of(a, "r")[i] = std::norm(z);
  }
});
const Reference kClasses("shared_classes", [](Arrays& a) {
  const Values& x = of(a, "x");
  for (int b = 0; b < 4; ++b) {
    const auto best = std::max_element(x.begin() + b * 128, x.begin() + b * 128 + 128);
    of(a, "best")[b] = *best;
    of(a, "where")[b] = static_cast<double>(best - x.begin());
  }
  for (int warp = 0; warp < 16; ++warp) of(a, "sums")[warp] = sum_of(x, warp * 32, 32);
  for (int i = 0; i < 512; ++i) ++of(a, "counts")[i / 128 * 7 + static_cast<int>(of(a, "labels")[i])];
});

}  // namespace
}  // namespace damo::corpus
