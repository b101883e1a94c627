// Random numbers, graphs, linear algebra, images, halves.
#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <numeric>

#include "references.hpp"

namespace damo::corpus {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
int index_of(double x) { return static_cast<int>(x); }

const Reference kDropout("dropout_hash", [](Arrays& a) {
  for (u32 i = 0; i < 1000; ++i) {
    const u32 state = (12345u ^ i) * 747796405u + 2891336453u;
    const u32 word = ((state >> ((state >> 28) + 4)) ^ state) * 277803737u;
    const float u = static_cast<float>((word >> 22) ^ word) * 0x1p-32F;
    of(a, "y")[i] = u < 0.25F ? 0 : of(a, "x")[i] / 0.75;
  }
});
const Reference kPhilox("philox_own", [](Arrays& a) {
  for (u32 i = 0; i < 100; ++i) {
    std::array<u32, 4> c{i, 0, 0, 0};
    u32 k0 = 7, k1 = 9;
    for (int round = 0; round < 7; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      const u64 p = u64{0xD2511F53} * c[0], q = u64{0xCD9E8D57} * c[2];
      c = {static_cast<u32>(q >> 32) ^ c[1] ^ k0, static_cast<u32>(q), static_cast<u32>(p >> 32) ^ c[3] ^ k1, static_cast<u32>(p)};
    }
    for (int w = 0; w < 4; ++w) of(a, "out")[i * 4 + w] = c[w];
  }
});

/// XORWOW, skipped ahead by a matrix of 160 columns over one bit.
struct Xorwow {
  using State = std::array<u32, 5>;
  State v;
  u32 d;
  static State step(State v) {
    const u32 t = v[0] ^ (v[0] >> 2);
    return {v[1], v[2], v[3], v[4], (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1))};
  }
  using Matrix = std::vector<State>;
  static State times(const Matrix& m, const State& v) {
    State result{};
    for (int i = 0; i < 160; ++i) {
      if (!(v[i / 32] >> i % 32 & 1)) continue;
      for (int w = 0; w < 5; ++w) result[w] ^= m[i][w];
    }
    return result;
  }
  /// 2^67 steps.
  static const Matrix& sequence() {
    static const Matrix matrix = [] {
      Matrix m(160), squared(160);
      for (int i = 0; i < 160; ++i) {
        State one{};
        one[i / 32] = 1u << i % 32;
        m[i] = step(one);
      }
      for (int k = 0; k < 67; ++k, m = squared) {
        for (int i = 0; i < 160; ++i) squared[i] = times(m, m[i]);
      }
      return m;
    }();
    return matrix;
  }
  u32 next() {
    v = step(v);
    d += 362437;
    return v[4] + d;
  }
};
const Reference kMonteCarlo("monte_carlo_pi", [](Arrays& a) {
  const u32 t0 = 1099087573u * (1234u ^ 0xaad26b49u), t1 = 2591861531u * 0xf7dcefddu;
  Xorwow::State start{123456789u + t0, 362436069u ^ t0, 521288629u + t1, 88675123u ^ t1, 5783321u + t0};
  for (int id = 0; id < 256; ++id, start = Xorwow::times(Xorwow::sequence(), start)) {
    Xorwow random{start, 6615241u + t1 + t0};
    of(a, "first")[id] = random.next();
    for (int i = 0; i < 40; ++i) {
      const auto uniform = [&] { return std::fma(static_cast<float>(random.next()), 0x1p-32F, 0x1p-33F); };
      const double x = uniform(), y = uniform();
      of(a, "hits")[0] += x * x + y * y <= 1;
    }
  }
});

const Reference kMandelbrot("mandelbrot", [](Arrays& a) {
  for (int i = 0; i < 1536; ++i) {
    const double x0 = i % 48 / 48.0 * 3.5 - 2.5, y0 = i / 48 / 32.0 * 2.0 - 1.0;
    double x = 0, y = 0;
    int count = 0;
    while (x * x + y * y <= 4 && count < 100) {
      const double next = x * x - y * y + x0;
      y = 2 * x * y + y0, x = next, ++count;
    }
    of(a, "iterations")[i] = count;
  }
});
const Reference kLife("game_of_life", [](Arrays& a) {
  Values state = of(a, "a");
  for (int i = 0; i < 3; ++i) {
    Values next(1024);
    for (int y = 0; y < 32; ++y) {
      for (int x = 0; x < 32; ++x) {
        int n = 0;
        for (int dy = 31; dy <= 33; ++dy) {
          for (int dx = 31; dx <= 33; ++dx) n += (dx != 32 || dy != 32) && state[(y + dy) % 32 * 32 + (x + dx) % 32] == 1;
        }
        next[y * 32 + x] = n == 3 || (n == 2 && state[y * 32 + x] == 1);
      }
    }
    state = next;
  }
  of(a, "b") = state;
});
const Reference kNbody("nbody_tiled", [](Arrays& a) {
  const double* p = of(a, "pos").data();
  for (int i = 0; i < 128; ++i) {
    for (int j = 0; j < 128; ++j) {
      double r[3], square = 0.01;
      for (int k = 0; k < 3; ++k) r[k] = p[j * 4 + k] - p[i * 4 + k], square += r[k] * r[k];
      for (int k = 0; k < 3; ++k) of(a, "acc")[i * 4 + k] += r[k] * p[j * 4 + 3] / std::pow(square, 1.5);
    }
  }
});
const Reference kBlackScholes("black_scholes", [](Arrays& a) {
  const auto normal = [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); };
  for (int i = 0; i < 500; ++i) {
    const double s = of(a, "price")[i], x = of(a, "strike")[i], t = of(a, "years")[i], r = 0.02, v = 0.3;
    const double d1 = (std::log(s / x) + (r + v * v / 2) * t) / (v * std::sqrt(t)), d2 = d1 - v * std::sqrt(t);
    of(a, "call")[i] = s * normal(d1) - x * std::exp(-r * t) * normal(d2);
    of(a, "put")[i] = x * std::exp(-r * t) * normal(-d2) - s * normal(-d1);
  }
});
const Reference kKmeans("kmeans", [](Arrays& a) {
  const Values &p = of(a, "points"), &c = of(a, "centres");
  for (int i = 0; i < 300; ++i) {
    int best = 0;
    const auto distance = [&](int k) { return std::hypot(p[2 * i] - c[2 * k], p[2 * i + 1] - c[2 * k + 1]); };
    for (int k = 1; k < 5; ++k) best = distance(k) < distance(best) ? k : best;
    of(a, "label")[i] = best;
    of(a, "sums")[2 * best] += p[2 * i], of(a, "sums")[2 * best + 1] += p[2 * i + 1], ++of(a, "counts")[best];
  }
});
const Reference kCompaction("compaction_ballot", [](Arrays& a) {
  const auto end = std::copy_if(of(a, "in").begin(), of(a, "in").end(), of(a, "out").begin(), [](double x) { return x > 0; });
  of(a, "count")[0] = static_cast<double>(end - of(a, "out").begin());
});
const Reference kFilter("filter_warp_aggregated", [](Arrays& a) {
  for (const double x : of(a, "src")) {
    if (x > 0) ++of(a, "nres")[0], of(a, "total")[0] += x;
  }
});
const Reference kMatchAny("match_any_histogram", [](Arrays& a) {
  for (const double key : of(a, "keys")) ++of(a, "counts")[index_of(key)];
});
const Reference kVotes("vote_functions", [](Arrays& a) {
  const Values& in = of(a, "in");
  for (int warp = 0; warp < 8; ++warp) {
    const auto first = in.begin() + warp * 32, last = first + 32;
    of(a, "out")[warp * 3] = std::all_of(first, last, [](double v) { return v < 39; }) + 10 * std::any_of(first, last, [](double v) { return v == 7; });
    of(a, "out")[warp * 3 + 1] = static_cast<double>(std::count_if(in.begin(), in.end(), [](double v) { return v > 20; }));
    of(a, "out")[warp * 3 + 2] = 1;
  }
});
const Reference kTopk("topk_block", [](Arrays& a) {
  Values sorted = of(a, "x");
  std::sort(sorted.rbegin(), sorted.rend());
  std::copy_n(sorted.begin(), 5, of(a, "best").begin());
});

/// 100 rows of 0 to 8 entries, four on average: row i's neighbours are (7 i + 11 k) mod 100.
void make_graph(Arrays& a) {
  Values &ptr = of(a, "ptr"), &col = of(a, "col");
  int at = 0;
  for (int row = 0; row < 100; ++row) {
    ptr[row] = at;
    for (int k = 0; k < row % 9 && at < 400; ++k) col[at++] = (7 * row + 11 * k + 1) % 100;
  }
  ptr[100] = at;
  if (!a.contains("dist")) return;
  col[0] = 1;  // row 0 has no entry of its own: the search starts with one
  for (int row = 1; row <= 100; ++row) ptr[row] = std::max(ptr[row], 1.0);
}
void multiply_sparse(Arrays& a) {
  for (int row = 0; row < 100; ++row) {
    for (int j = index_of(of(a, "ptr")[row]); j < index_of(of(a, "ptr")[row + 1]); ++j) {
      of(a, "y")[row] += of(a, "val")[j] * of(a, "x")[index_of(of(a, "col")[j])];
    }
  }
}
const Reference kSpmvScalar("spmv_scalar", multiply_sparse, make_graph);
const Reference kSpmvVector("spmv_vector", multiply_sparse, make_graph);
const Reference kBfs(
    "bfs_level",
    [](Arrays& a) {
      Values& dist = of(a, "dist");
      std::vector<int> front = {0};
      dist[0] = 0;
      for (int level = 1; level <= 3; ++level) {
        std::vector<int> next;
        for (const int v : front) {
          for (int j = index_of(of(a, "ptr")[v]); j < index_of(of(a, "ptr")[v + 1]); ++j) {
            const int u = index_of(of(a, "col")[j]);
            if (dist[u] == -1) dist[u] = level, next.push_back(u);
          }
        }
        front = next;
      }
    },
    make_graph);
const Reference kFloyd("floyd_warshall", [](Arrays& a) {
  Values& d = of(a, "d");
  for (int i = 0; i < 16; ++i) d[i * 17] = 0;
  for (int k = 0; k < 16; ++k) {
    for (int i = 0; i < 256; ++i) d[i] = std::min(d[i], d[i / 16 * 16 + k] + d[k * 16 + i % 16]);
  }
});
const Reference kNeedleman("needleman_wunsch", [](Arrays& a) {
  Values& h = of(a, "score");
  for (int i = 0; i < 41; ++i) {
    for (int j = 0; j < 41; ++j) {
      if (i == 0 || j == 0) {
        h[i * 41 + j] = -2 * (i + j);
        continue;
      }
      const double same = of(a, "s")[i - 1] == of(a, "t")[j - 1] ? 1 : -1;
      h[i * 41 + j] = std::max({h[(i - 1) * 41 + j - 1] + same, h[(i - 1) * 41 + j] - 2, h[i * 41 + j - 1] - 2});
    }
  }
});
const Reference kLu("lu_batched", [](Arrays& a) {
  for (int block = 0; block < 5; ++block) {
    double* m = &of(a, "A")[block * 64];
    for (int i = 0; i < 8; ++i) m[i * 9] += 8;
    for (int i = 0; i < 8; ++i) {  // Doolittle, row by row
      for (int j = 0; j < 8; ++j) {
        double sum = m[i * 8 + j];
        for (int k = 0; k < std::min(i, j); ++k) sum -= m[i * 8 + k] * m[k * 8 + j];
        m[i * 8 + j] = j < i ? sum / m[j * 9] : sum;
      }
    }
  }
});
const Reference kJacobi("jacobi", [](Arrays& a) {  // the system itself, by elimination: 4 x[i] - x[i-1] - x[i+1] = b[i]
  Values diagonal(32, 4.0), b = of(a, "b");
  for (int i = 1; i < 32; ++i) {
    diagonal[i] -= 1 / diagonal[i - 1];
    b[i] += b[i - 1] / diagonal[i - 1];
  }
  for (int i = 31; i >= 0; --i) of(a, "x")[i] = (b[i] + (i < 31 ? of(a, "x")[i + 1] : 0)) / diagonal[i];
});
const Reference kFft("fft_shared", [](Arrays& a) {
  const Values re = of(a, "re"), im = of(a, "im");
  for (int k = 0; k < 256; ++k) {
    std::complex<double> sum = 0;
    for (int i = 0; i < 256; ++i) sum += std::complex(re[i], im[i]) * std::polar(1.0, -2 * M_PI * (i * k % 256) / 256);
    of(a, "re")[k] = sum.real(), of(a, "im")[k] = sum.imag();
  }
});
const Reference kString("string_bytes", [](Arrays& a) {
  for (double& byte : of(a, "text")) {
    if (byte >= 'a' && byte <= 'z') byte -= 32;
    if (byte >= 'A' && byte <= 'Z') ++of(a, "letters")[index_of(byte) - 'A'];
  }
});
const Reference kGray("image_rgb_gray", [](Arrays& a) {
  const Values& c = of(a, "rgb");
  for (int i = 0; i < 768; ++i) of(a, "gray")[i] = std::floor((c[3 * i] * 77 + c[3 * i + 1] * 151 + c[3 * i + 2] * 28) / 256);
});

double clamped(const Values& image, int w, int h, int x, int y) { return image[std::clamp(y, 0, h - 1) * w + std::clamp(x, 0, w - 1)]; }
const Reference kBlur("image_blur", [](Arrays& a) {
  for (int i = 0; i < 768; ++i) {
    double sum = 0, count = 0;
    for (int j = 0; j < 9; ++j) {
      const int x = i % 32 + j % 3 - 1, y = i / 32 + j / 3 - 1;
      if (x >= 0 && y >= 0 && x < 32 && y < 24) sum += of(a, "in")[y * 32 + x], ++count;
    }
    of(a, "out")[i] = std::floor(sum / count);
  }
});
const Reference kSobel("image_sobel", [](Arrays& a) {
  const double weight[] = {1, 2, 1};
  for (int i = 0; i < 768; ++i) {
    double dx = 0, dy = 0;
    for (int k = -1; k <= 1; ++k) {
      const auto at = [&](int x, int y) { return clamped(of(a, "in"), 32, 24, i % 32 + x, i / 32 + y); };
      dx += weight[k + 1] * (at(1, k) - at(-1, k)), dy += weight[k + 1] * (at(k, 1) - at(k, -1));
    }
    of(a, "out")[i] = std::hypot(dx, dy);
  }
});
const Reference kBilinear("image_bilinear", [](Arrays& a) {
  for (int i = 0; i < 1536; ++i) {
    const double fx = (i % 48 + 0.5) / 2 - 0.5, fy = (i / 48 + 0.5) / 2 - 0.5;
    const int x = index_of(std::floor(fx)), y = index_of(std::floor(fy));
    for (int j = 0; j < 4; ++j) {
      const double wx = j % 2 ? fx - x : 1 - (fx - x), wy = j / 2 ? fy - y : 1 - (fy - y);
      of(a, "out")[i] += wx * wy * clamped(of(a, "in"), 24, 16, x + j % 2, y + j / 2);
    }
  }
});

const Reference kHalfAxpy("half_axpy", [](Arrays& a) {
  for (int i = 0; i < 1000; ++i) of(a, "y")[i] += 2 * of(a, "x")[i];
});
const Reference kHalf2Dot("half2_dot", [](Arrays& a) {
  of(a, "out")[0] = std::inner_product(of(a, "a").begin(), of(a, "a").end(), of(a, "b").begin(), 0.0);
});
const Reference kHalfVector("half_vector_load", [](Arrays& a) {
  for (int i = 0; i < 2048; ++i) of(a, "y")[i] = std::max(of(a, "x")[i], 0.0);
});
const Reference kBfloatGelu("bfloat16_gelu", [](Arrays& a) {
  for (int i = 0; i < 512; ++i) {
    const double x = of(a, "x")[i];
    of(a, "y")[i] = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
});
const Reference kBfloatScale("bfloat162_scale", [](Arrays& a) {
  for (double& x : of(a, "x")) x /= 2;
});
const Reference kHalfTemplates("half_templates", [](Arrays& a) {
  for (double& x : of(a, "h")) x *= x;
  for (double& x : of(a, "f")) x *= x;
});

}  // namespace
}  // namespace damo::corpus
