// Kernels of the kinds that the CUDA samples hold.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "references.hpp"

namespace damo::corpus {
namespace {

constexpr double kPi = 3.14159265358979323846;

double strided_sum(const Values& x, int first, int step) {
  double sum = 0;
  for (int i = first; i < static_cast<int>(x.size()); i += step) sum += x[i];
  return sum;
}
const Reference kReduction("sample_reduction_templates", [](Arrays& a) {
  for (int b = 0; b < 8; ++b) {
    of(a, "out")[b] = 0;
    for (int t = 0; t < 256; ++t) of(a, "out")[b] += strided_sum(of(a, "x"), 256 * b + t, 2048);
  }
  for (int b = 0; b < 5; ++b) {
    of(a, "outi")[b] = 0;
    for (int t = 0; t < 512; ++t) of(a, "outi")[b] += strided_sum(of(a, "xi"), 512 * b + t, 2560);
  }
  for (int b = 0; b < 16; ++b) {
    of(a, "outd")[b] = 0;
    for (int t = 0; t < 128; ++t) of(a, "outd")[b] += strided_sum(of(a, "xd"), 128 * b + t, 2048);
  }
});
const Reference kMergeSort("sample_merge_sort", [](Arrays& a) {
  const Values& keys = of(a, "keys");
  for (int b = 0; b < 2; ++b) {
    std::vector<int> order(1024);
    std::iota(order.begin(), order.end(), 1024 * b);
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return keys[i] < keys[j]; });
    for (int i = 0; i < 1024; ++i) {
      of(a, "out")[1024 * b + i] = keys[order[i]];
      of(a, "places")[1024 * b + i] = order[i];
    }
  }
});
const Reference kWalsh("fast_walsh", [](Arrays& a) {
  for (int i = 0; i < 2048; ++i) {
    double sum = 0;
    for (int j = 0; j < 512; ++j) sum += (std::popcount(static_cast<unsigned>(i & j & 511)) % 2 ? -1 : 1) * of(a, "x")[i / 512 * 512 + j];
    of(a, "y")[i] = sum;
  }
});
const Reference kCosine("dct_8x8", [](Arrays& a) {
  const Values& x = of(a, "x");
  of(a, "back") = x;
  for (int row = 0; row < 64; ++row) {
    for (int column = 0; column < 64; ++column) {
      double sum = 0;
      for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 8; ++j)
          sum += x[(row / 8 * 8 + i) * 64 + column / 8 * 8 + j] * std::cos((2 * i + 1) * (row % 8) * kPi / 16) * std::cos((2 * j + 1) * (column % 8) * kPi / 16);
      }
      of(a, "y")[row * 64 + column] = sum / 4 * (row % 8 ? 1 : std::sqrt(0.5)) * (column % 8 ? 1 : std::sqrt(0.5));
    }
  }
});
const Reference kBinomial("binomial_options", [](Arrays& a) {
  const int steps = 512;
  const double dt = 1.0 / steps, up = std::exp(0.1 * std::sqrt(dt)), growth = std::exp(0.06 * dt);
  const double p = (growth - 1 / up) / (up - 1 / up);
  for (int o = 0; o < 32; ++o) {
    Values call(steps + 1);
    for (int i = 0; i <= steps; ++i) call[i] = std::max(0.0, of(a, "s")[o] * std::pow(up, 2 * i - steps) - of(a, "k")[o]);
    for (int i = steps; i > 0; --i) {
      for (int j = 0; j < i; ++j) call[j] = (p * call[j + 1] + (1 - p) * call[j]) / growth;
    }
    of(a, "out")[o] = call[0];
  }
});
const Reference kBytes("histogram_bytes", [](Arrays& a) {
  const Values& data = of(a, "data");
  for (int i = 0; i < 8192; ++i) {
    ++of(a, "partial64")[i / 16 % 256 / 64 * 64 + static_cast<int>(data[i]) / 4];
    ++of(a, "partial256")[i / 4 % 768 / 192 * 256 + static_cast<int>(data[i])];
    ++of(a, "out")[static_cast<int>(data[i])];
  }
});
void accelerations(const Values& pos, Values& acc) {
  for (int i = 0; i < 256; ++i) {
    double sum[3] = {};
    for (int j = 0; j < 256; ++j) {
      double r[3], square = 0.01;
      for (int c = 0; c < 3; ++c) r[c] = pos[4 * j + c] - pos[4 * i + c], square += r[c] * r[c];
      for (int c = 0; c < 3; ++c) sum[c] += r[c] * pos[4 * j + 3] / std::pow(square, 1.5);
    }
    for (int c = 0; c < 3; ++c) acc[3 * i + c] = sum[c];
  }
}
const Reference kBodies("nbody_vec_templates", [](Arrays& a) {
  accelerations(of(a, "pos"), of(a, "acc"));
  accelerations(of(a, "posd"), of(a, "accd"));
});
const Reference kDoubleSingle("mandelbrot_double_single", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    of(a, "out")[i] = i / 3.0;
    const float x = 1.0f + static_cast<float>(i) * 0x1p-23f;
    of(a, "product")[i] = static_cast<double>(x) * x - static_cast<double>(static_cast<float>(static_cast<double>(x) * x));
  }
});

const Reference kRodinia("rodinia_grids", [](Arrays& a) {
  const Values& wall = of(a, "wall");
  Values best(wall.begin(), wall.begin() + 256), next(256);
  for (int row = 1; row < 10; ++row, best = next) {
    for (int c = 0; c < 256; ++c) next[c] = wall[row * 256 + c] + std::min({best[std::max(c - 1, 0)], best[c], best[std::min(c + 1, 255)]});
  }
  of(a, "result") = best;
  Values now = of(a, "temp"), later(1024);
  for (int step = 0; step < 2; ++step, now = later) {
    for (int i = 0; i < 1024; ++i) {
      const int row = i / 32, c = i % 32;
      const double up = now[std::max(row - 1, 0) * 32 + c], down = now[std::min(row + 1, 31) * 32 + c];
      const double left = now[row * 32 + std::max(c - 1, 0)], right = now[row * 32 + std::min(c + 1, 31)];
      later[i] = now[i] + 0.02 * (of(a, "power")[i] + (up + down - 2 * now[i]) * 0.5 + (left + right - 2 * now[i]) + (80 - now[i]) * 0.01);
    }
  }
  of(a, "hot") = now;
});
const Reference kDecomposition("lud_blocked", [](Arrays& a) {
  Values& m = of(a, "m");
  const int n = 32;
  for (int i = 0; i < n; ++i) m[i * n + i] += n;
  for (int k = 0; k < n; ++k) {
    for (int i = k + 1; i < n; ++i) {
      m[i * n + k] /= m[k * n + k];
      for (int j = k + 1; j < n; ++j) m[i * n + j] -= m[i * n + k] * m[k * n + j];
    }
  }
});
const Reference kScans("scan_kogge_brent", [](Arrays& a) {
  const Values &x = of(a, "x"), &xi = of(a, "xi");
  for (int b = 0; b < 4; ++b) std::partial_sum(x.begin() + b * 250, x.begin() + b * 250 + 250, of(a, "ks").begin() + b * 250);
  std::partial_sum(x.begin(), x.end(), of(a, "bk").begin());
  for (int b = 0; b < 2; ++b) std::partial_sum(xi.begin() + b * 100, xi.begin() + b * 100 + 100, of(a, "yi").begin() + b * 100);
});
const Reference kSparse(
    "spmv_formats",
    [](Arrays& a) {
      for (int i = 0; i < 500; ++i) of(a, "coo")[static_cast<int>(of(a, "row")[i])] += of(a, "value")[i] * of(a, "x")[static_cast<int>(of(a, "column")[i])];
      for (int r = 0; r < 100; ++r) {
        for (int t = 0; t < of(a, "counts")[r]; ++t) of(a, "ell")[r] += of(a, "ell_value")[t * 100 + r] * of(a, "x")[static_cast<int>(of(a, "ell_column")[t * 100 + r])];
      }
      for (int i = 0; i < 105; ++i) {
        const auto value = [](int at) { return 100 * (at / 35) + 10 * (at / 7 % 5) + at % 7; };
        of(a, "odd")[i] = value(104 - i) + (i < 104 ? value(i ^ 1) : 0);
      }
    },
    [](Arrays& a) {
      for (int i = 0; i < 500; ++i) of(a, "row")[i] = i * 37 % 100, of(a, "column")[i] = i * 29 % 64;
      for (int i = 0; i < 600; ++i) of(a, "ell_column")[i] = i * 31 % 64, of(a, "ell_value")[i] = i % 7 - 3;
      for (int r = 0; r < 100; ++r) of(a, "counts")[r] = r % 7;
    });

const Reference kDeclared("declared_kernels", [](Arrays& a) {
  for (int i = 0; i < 64; ++i) of(a, "out")[i] = 100 * (i / 16) + i % 16;
  for (int t = 0; t < 32; ++t) {
    of(a, "out")[64 + t] = 2 * (t + 1);
    of(a, "out")[96 + t] = t * (t + 1) / 2;
    of(a, "out")[128 + t] = t % 2 ? t * t : 3 * t;
    of(a, "x")[t] = t + 1.5;
  }
});

const Reference kSuppression(
    "nms_bitmask",
    [](Arrays& a) {
      const Values& box = of(a, "boxes");
      const auto area = [](double l, double t, double r, double b) { return std::max(r - l, 0.0) * std::max(b - t, 0.0); };
      std::vector<int> kept;
      for (int i = 0; i < 200; ++i) {
        const double* x = &box[4 * i];
        const bool covered = std::any_of(kept.begin(), kept.end(), [&](int k) {
          const double* y = &box[4 * k];
          const double common = area(std::max(x[0], y[0]), std::max(x[1], y[1]), std::min(x[2], y[2]), std::min(x[3], y[3]));
          return common > 0.4 * (area(x[0], x[1], x[2], x[3]) + area(y[0], y[1], y[2], y[3]) - common);
        });
        if (!covered) kept.push_back(i), of(a, "keep")[i] = 1;
      }
    },
    [](Arrays& a) {
      for (int i = 0; i < 200; ++i) {
        const int left = i * 37 % 101, top = i * 53 % 103;
        const double box[] = {1.0 * left, 1.0 * top, left + 15.0 + i % 11, top + 17.0 + i % 7};
        std::copy(box, box + 4, &of(a, "boxes")[4 * i]);
      }
    });
const Reference kOptimiser("multi_tensor_adam", [](Arrays& a) {
  const auto step = [](const Values& g, Values& p, Values& m) {
    for (std::size_t i = 0; i < g.size(); ++i) p[i] -= 0.1 * (m[i] = 0.9 * m[i] + g[i]);
  };
  step(of(a, "g0"), of(a, "p0"), of(a, "m0"));
  step(of(a, "g1"), of(a, "p1"), of(a, "m1"));
});

}  // namespace
}  // namespace damo::corpus
