// Kernels of courses and tutorials: scans, ways around barriers, calls that are not known by name.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "references.hpp"

namespace damo::corpus {
namespace {

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
const Reference kDeclared("declared_kernels", [](Arrays& a) {
  for (int i = 0; i < 64; ++i) of(a, "out")[i] = 100 * (i / 16) + i % 16;
  for (int t = 0; t < 32; ++t) {
    of(a, "out")[64 + t] = 2 * (t + 1);
    of(a, "out")[96 + t] = t * (t + 1) / 2;
    of(a, "out")[128 + t] = t % 2 ? t * t : 3 * t;
    of(a, "x")[t] = t + 1.5;
  }
});

}  // namespace
}  // namespace damo::corpus
