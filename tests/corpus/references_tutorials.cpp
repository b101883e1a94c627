// Kernels of benchmark suites and tutorials: grids and meshes, ways around barriers, calls that are not known by name.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "references.hpp"

namespace damo::corpus {
namespace {

const Reference kSrad("rodinia_srad", [](Arrays& a) {
  const Values j = of(a, "image");
  Values& c = of(a, "c");
  const auto at = [&](int y, int x) { return j[std::clamp(y, 0, 31) * 32 + std::clamp(x, 0, 31)]; };
  const auto step = [&](int y, int x, int dy, int dx) { return at(y + dy, x + dx) - at(y, x); };
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      double squares = 0, sum = 0;
      for (const auto& [dy, dx] : {std::pair{-1, 0}, {1, 0}, {0, -1}, {0, 1}}) {
        squares += step(y, x, dy, dx) * step(y, x, dy, dx) / (at(y, x) * at(y, x));
        sum += step(y, x, dy, dx) / at(y, x);
      }
      const double q = (0.5 * squares - sum * sum / 16) / ((1 + 0.25 * sum) * (1 + 0.25 * sum));
      c[y * 32 + x] = std::clamp(1 / (1 + (q - 0.4) / (0.4 * 1.4)), 0.0, 1.0);
    }
  }
  for (int y = 0; y < 32; ++y) {
    for (int x = 0; x < 32; ++x) {
      const double here = c[y * 32 + x], south = c[std::min(y + 1, 31) * 32 + x],
                   east = c[y * 32 + std::min(x + 1, 31)];
      const double sum =
          here * step(y, x, -1, 0) + south * step(y, x, 1, 0) + here * step(y, x, 0, -1) + east * step(y, x, 0, 1);
      of(a, "image")[y * 32 + x] = j[y * 32 + x] + 0.25 * 0.5 * sum;
    }
  }
});

/// Cramer-free: Gauss-Jordan with pivoting, unlike the kernels.
const Reference kGaussian("gaussian_elimination", [](Arrays& a) {
  Values m = of(a, "a"), b = of(a, "b");
  for (int i = 0; i < 8; ++i) m[i * 9] += 8;
  for (int p = 7; p >= 0; --p) {
    for (int i = 0; i < 8; ++i) {
      if (i == p) continue;
      const double f = m[i * 8 + p] / m[p * 9];
      for (int j = 0; j < 8; ++j) m[i * 8 + j] -= f * m[p * 8 + j];
      b[i] -= f * b[p];
    }
  }
  for (int i = 0; i < 8; ++i) of(a, "x")[i] = b[i] / m[i * 9];
});

struct Fluid {
  double rho, p, energy, speed, sound, momentum[3], velocity[3];
  explicit Fluid(const Values& v, int i) : rho(v[i]), energy(v[4 * 128 + i]) {
    double squared = 0;
    for (int d = 0; d < 3; ++d) {
      momentum[d] = v[(1 + d) * 128 + i];
      velocity[d] = momentum[d] / rho;
      squared += velocity[d] * velocity[d];
    }
    speed = std::sqrt(squared);
    p = 0.4 * (energy - 0.5 * rho * squared);
    sound = std::sqrt(1.4 * std::abs(p) / rho);
  }
  /// Of the five conserved quantities, along x.
  double flux(int quantity) const {
    if (quantity == 0) return momentum[0];
    if (quantity == 4) return velocity[0] * (energy + p);
    return velocity[0] * momentum[quantity - 1] + (quantity == 1 ? p : 0);
  }
  double conserved(int quantity) const { return quantity == 0 ? rho : quantity == 4 ? energy : momentum[quantity - 1]; }
};
const Reference kCfd("cfd_euler3d", [](Arrays& a) {
  const Values& v = of(a, "variables");
  const Values& normals = of(a, "normals");
  for (int i = 0; i < 128; ++i) {
    const Fluid here(v, i);
    of(a, "steps")[i] = 0.5 / (here.speed + here.sound);
    double sum[5] = {};
    for (int j = 0; j < 4; ++j) {
      const int other = static_cast<int>(of(a, "neighbours")[i + j * 128]);
      const double n[3] = {normals[i + j * 128], normals[i + (j + 4) * 128], normals[i + (j + 8) * 128]};
      const double length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
      if (other >= 0) {
        const Fluid there(v, other);
        const double f = -length * 0.1 * (here.speed + there.speed + here.sound + there.sound);
        for (int q = 0; q < 5; ++q)
          sum[q] += f * (here.conserved(q) - there.conserved(q)) + 0.5 * n[0] * (here.flux(q) + there.flux(q));
      } else if (other == -1) {
        for (int d = 0; d < 3; ++d) sum[1 + d] += n[d] * here.p;
      } else {
        sum[0] += 0.5 * n[0] * (1.2 + here.momentum[0]);
        sum[4] += 0.5 * n[0] * (0.5 + here.flux(4));
      }
    }
    for (int q = 0; q < 5; ++q) of(a, "fluxes")[q * 128 + i] = sum[q];
  }
});
const Reference kFdtd("fdtd3d", [](Arrays& a) {
  const Values& in = of(a, "in");
  for (int z = 4; z < 13; ++z) {
    for (int y = 4; y < 16; ++y) {
      for (int x = 4; x < 20; ++x) {
        const int at = (z * 20 + y) * 24 + x;
        double sum = of(a, "weights")[0] * in[at];
        for (int r = 1; r <= 4; ++r) {
          for (const int step : {1, 24, 480}) sum += of(a, "weights")[r] * (in[at + r * step] + in[at - r * step]);
        }
        of(a, "out")[at] = sum;
      }
    }
  }
});

const Reference kControl("control_flow", [](Arrays& a) {
  const auto in = [&](int i) { return static_cast<int>(of(a, "in")[i]); };
  for (int b = 0; b < 4; ++b) {
    int sum = 0, least = 1000, farthest = 0;
    for (int t = 0; t < 128; ++t) sum += in(b * 128 + t), least = std::min(least, in(b * 128 + t));
    of(a, "sums")[b] = sum;
    of(a, "least")[b] = least;
    for (int t = 0; t < 128; ++t) {  // each minimum of a prefix or suffix travels one step a round
      for (int distance = 0;; ++distance) {
        const int low = std::max(0, t - distance), high = std::min(127, t + distance);
        int found = 1000;
        for (int k = low; k <= high; ++k) found = std::min(found, in(b * 128 + k));
        if (found == least) {
          farthest = std::max(farthest, distance);
          break;
        }
      }
    }
    of(a, "rounds")[b] = farthest + 1;
    Values scan(128), masked;
    for (int t = 0; t < 128; ++t) scan[t] = in(b * 128 + t);
    const auto exclusive = [](Values v) {
      double total = 0;
      for (double& x : v) {
        const double value = x;
        x = total;
        total += value;
      }
      return v;
    };
    masked = exclusive(scan);
    for (double& x : masked) x = static_cast<int>(x) & 7;
    masked = exclusive(masked);
    for (int times = 0; times < 3; ++times) {
      scan = exclusive(scan);
      for (double& x : scan) x = static_cast<int>(x) % 1000;
    }
    for (int t = 0; t < 128; ++t) {
      const int i = b * 128 + t;
      of(a, "scans")[i] = scan[t] + 1000 * (masked[t] + (b % 2 ? t : 0));
      const int next = b * 128 + (t + 1) % 128;
      const int reversed = b * 128 + 127 - (t + 1) % 128;
      of(a, "modes")[i] = b == 0 ? in(reversed) : b == 1 ? in(next) : b == 2 ? in(next) + 1 : -in(i);
      int top = 0, steps = 0;
      for (int k = 0; k < 100; ++k) top = std::max(top, in(b * 128 + k));
      while (top > 0) top >>= 1, ++steps;
      steps = std::max(steps, 1);
      of(a, "gone")[i] = t >= 100 || b == 2 ? -1 : in(b * 128 + 99 - t) + steps - 1;
      std::int64_t x = in(i);
      for (int count = in(i) % 13 + 1; count > 0; --count) {
        if (count % 4 == 0) x = static_cast<std::int32_t>(x * 3 + 1);
        if (count % 4 == 3) x ^= x >> 3;
        if (count % 4 == 2) x += 7;
        if (count % 4 == 1) x %= 100003;
      }
      of(a, "turned")[i] = static_cast<double>(x);
    }
  }
});

int fibonacci(int n) {
  int last = 1, now = 0;
  for (int i = 0; i < n; ++i) last = std::exchange(now, now + last);
  return now;
}
const Reference kCalls("calls_indirect", [](Arrays& a) {
  const Values& x = of(a, "x");
  const auto f = [](int which, double v) {
    return which == 0 ? v / 2 : which == 1 ? v * v : which == 2 ? std::sqrt(v) : std::log(v);
  };
  Values sorted = of(a, "n");
  for (int i = 0; i < 256; i += 16) std::sort(sorted.begin() + i, sorted.begin() + i + 16);
  of(a, "sorted") = sorted;
  const char* names[] = {"one", "two", "three", "abcdefgh"};
  for (int i = 0; i < 256; ++i) {
    const double v = x[i], circle = 3.14159265358979 * v * v;
    of(a, "y")[i] = f(i % 4, v) + f(1 + i / 4 % 2, v);
    of(a, "area")[i] = i % 2 ? circle * 1.25 : 2 * v * 1.25 + 1;
    const int n = static_cast<int>(of(a, "n")[i]);
    of(a, "fib")[i] = fibonacci(n) + (n % 2 ? 0 : 10000);
    of(a, "hanoi")[i] = (1 << n % 8) - 1;
    of(a, "integral")[i] = v * (1 - std::cos(2.0)) + 2 + 33;
    of(a, "poly")[i] = std::exp(v / 2);
    if (i >= 64) continue;
    std::uint32_t hash = 5381;
    for (const char* s = names[i % 4]; *s; ++s) hash = hash * 33 + static_cast<unsigned>(*s);
    of(a, "text")[i] = hash & 0xffffff;
  }
});
const Reference kOdd("odd_blocks", [](Arrays& a) {
  for (int i = 0; i < 1050; ++i) {
    const int tid = i % 105, lane = tid % 32, v = 104 - tid, first = 104 - tid / 32 * 32,
              next = tid == 104 ? v : 104 - (tid ^ 1);
    of(a, "ranks")[i] = v + 1000 * first + 100000 * (lane + next % 2);
  }
  for (int i = 0; i < 300; ++i) of(a, "ones")[i] = i + 2;
  for (int b = 0; b < 4; ++b)
    of(a, "tops")[b] = *std::max_element(of(a, "x").begin() + b * 1024, of(a, "x").begin() + b * 1024 + 1024);
  for (int i = 0; i < 90; ++i) {
    const int first = i / 45 * 45 + i % 45 / 32 * 32, last = i % 45 < 32 ? first + 32 : i / 45 * 45 + 45;
    int above = 0, seven = 0, same = 0;
    const auto y = [&](int k) { return static_cast<int>(of(a, "y")[k]); };
    for (int k = first; k < last; ++k) {
      above += y(k) > 49;
      seven |= y(k) == 7;
      if (y(k) % 2 && y(k) / 10 == y(i) / 10) same += y(k);
    }
    of(a, "ballots")[i] = above + 100 * seven + 1000;
    of(a, "sums")[i] = y(i) % 2 ? same : -y(i);
  }
});
const Reference kGames("templates_games", [](Arrays& a) {
  std::uint32_t crc = ~0u;
  for (int i = 0; i < 32; ++i) {
    crc ^= static_cast<unsigned>(i);
    for (int k = 0; k < 8; ++k) crc = crc & 1 ? 0xEDB88320u ^ (crc >> 1) : crc >> 1;
    of(a, "crc")[i] = static_cast<double>(~crc >> 1);
  }
  for (int i = 0; i < 128; ++i) {
    const double x = of(a, "a")[i], y = of(a, "b")[i];
    of(a, "crtp")[i] = 2 * std::max(x, 0.0) + (x > 0 ? x : 0.25 * x);
    of(a, "packs")[i] = std::max({x, y, 0.5}) + x + y + 3 + (x * y + 1);
    of(a, "add_out")[i] = x + y;
    of(a, "mul_out")[i] = x * y;
    if (i < 64) of(a, "cut")[i] = 3 * of(a, "a")[63 - i] + 3 * (63 - i);
  }
  of(a, "traits") = {8, 0, 1, 2};
  of(a, "arch") = {1, 1, 1, 0};
});
const Reference kProduct("gemm_double_buffered", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 128; ++j) {
      double sum = 0;
      for (int k = 0; k < 128; ++k) sum += of(a, "a")[i * 128 + k] * of(a, "b")[k * 128 + j];
      of(a, "c")[i * 128 + j] = sum;
    }
  }
});

}  // namespace
}  // namespace damo::corpus
