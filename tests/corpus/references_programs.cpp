// Programs that show the language: structs, pointers, atomics, bits, groups, std.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <numeric>
#include <set>

#include "references.hpp"

namespace damo::corpus {
namespace {

using u8 = std::uint8_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
int whole(double x) { return static_cast<int>(x); }
u32 word(double x) { return static_cast<u32>(x); }

const Reference kTrapezoid("double_trapezoid", [](Arrays& a) {
  const double h = 6.0 / 6000;
  for (int i = 0; i <= 6000; ++i) {
    const double x = -3 + i * h;
    of(a, "result")[0] += h * std::exp(-0.5 * x * x) * (i == 0 || i == 6000 ? 0.5 : 1.0);
  }
});
const Reference kCollatz("collatz_long", [](Arrays& a) {
  for (int i = 0; i < 500; ++i) {
    double x = of(a, "start")[i], peak = x;
    for (; x != 1; ++of(a, "steps")[i]) {
      x = std::fmod(x, 2) == 1 ? 3 * x + 1 : x / 2;
      peak = std::max(peak, x);
    }
    of(a, "peak")[i] = peak;
  }
});
const Reference kModular("modular_power", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    const u64 m = 1000000007, base = static_cast<u64>(of(a, "base")[i]) % m;
    u64 power = base;
    for (int k = 0; k < 16; ++k) power = power * power % m;
    of(a, "out")[i] = static_cast<double>(power * base % m);
  }
});
const Reference kPointers("struct_with_pointers", [](Arrays& a) {
  for (double& x : of(a, "a")) x *= 2;
  for (double& x : of(a, "b")) x *= 4;
});
const Reference kByValue("struct_by_value", [](Arrays& a) {
  for (int i = 0; i < 200; ++i) {
    const double x = of(a, "x")[i];
    of(a, "y")[i] = 2 * x * x * x - x + 0.5 + 2.5;
  }
});
const Reference kList("linked_list", [](Arrays& a) {
  of(a, "sum")[0] = std::accumulate(of(a, "value").begin(), of(a, "value").end(), 0.0);
});
const Reference kHash("hash_table", [](Arrays& a) {
  of(a, "distinct")[0] = static_cast<double>(std::set<double>(of(a, "keys").begin(), of(a, "keys").end()).size());
});
const Reference kPrintf("printf_kernel", [](Arrays& a) { of(a, "out") = {0, 1, 4, 9}; });
const Reference kClock("clock_assert", [](Arrays& a) { of(a, "ok").assign(64, 1); });
const Reference kDoubleBuffer("double_buffer", [](Arrays& a) {
  for (int i = 0; i < 1024; ++i) of(a, "out")[127 - i % 128] += of(a, "in")[i];
});
const Reference kMemcpyAsync("memcpy_async_groups", [](Arrays& a) {
  for (int i = 0; i < 1024; ++i) of(a, "out")[i] = of(a, "in")[i / 256 * 256 + 255 - i % 256];
});
const Reference kPipeline("pipeline_stages", [](Arrays& a) {
  for (int i = 0; i < 1024; ++i) of(a, "out")[i] = of(a, "in")[i] + of(a, "in")[i / 128 * 128 + (i + 1) % 128];
});
const Reference kBarrier("barrier_phases", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) of(a, "out")[i] = of(a, "in")[(i + 3) % 256];
});
const Reference kJulia("complex_class", [](Arrays& a) {
  for (int i = 0; i < 1024; ++i) {  // in float, as the kernel: chaotic points would differ otherwise
    float r = 1.5F * static_cast<float>(16 - i % 32) / 16, m = 1.5F * static_cast<float>(16 - i / 32) / 16;
    int step = 0;
    for (; step < 200; ++step) {
      const float next = r * r - m * m - 0.8F;
      m = m * r + r * m + 0.156F, r = next;
      if (r * r + m * m > 1000) break;
    }
    of(a, "out")[i] = step == 200 ? 255 : 0;
  }
});
const Reference kComplex("complex_header", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    std::complex<double> z(1 + i % 16 * 0.05, 0.2 + i / 16 * 0.04);
    for (int step = 0; step < 3; ++step) z -= (z * z * z - 1.0) / (3.0 * z * z);
    of(a, "out")[2 * i] = std::abs(z), of(a, "out")[2 * i + 1] = -z.imag();
  }
});
const Reference kPolicies("functor_policies", [](Arrays& a) {
  for (int i = 0; i < 300; ++i) of(a, "out")[i] = std::pow(of(a, "a")[i] + of(a, "b")[i], 2) / 2;
});
const Reference kLambdas("lambdas_std", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) of(a, "out")[i] = 2 * std::clamp(of(a, "in")[i], -31.0, 31.0);
});
const Reference kRecursion("ops_recursion_pointer", [](Arrays& a) {
  std::array<double, 20> fibonacci{0, 1};
  for (int i = 2; i < 20; ++i) fibonacci[i] = fibonacci[i - 1] + fibonacci[i - 2];
  for (int i = 0; i < 60; ++i) of(a, "out")[i] = i % 3 == 0 ? fibonacci[i / 3] : i % 3 == 1 ? (i / 3) * (i / 3) : -(i / 3);
});
const Reference kBits("bits", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    const u32 x = word(of(a, "in")[i]), y = word(of(a, "in")[(i + 1) % 256]);
    u32 reversed = 0;
    for (int b = 0; b < 32; ++b) reversed |= (x >> b & 1) << (31 - b);
    const auto byte = [](u32 v, int b) { return v >> 8 * b & 0xff; };
    const int shift = i % 32;
    const double values[] = {double(std::popcount(x)),
                             double(std::countl_zero(x)),
                             double(x ? std::countr_zero(x) + 1 : 0),
                             double(reversed),
                             double(byte(x, 0) | byte(y, 0) << 8 | byte(x, 1) << 16 | byte(y, 1) << 24),
                             double(shift ? y << shift | x >> (32 - shift) : y),
                             double((u64{x} * y) >> 32),
                             double(std::popcount(x) + std::popcount(y)),
                             double(5u + (x > y ? x - y : y - x)),
                             double((u64{x} + y) / 2)};
    std::copy(std::begin(values), std::end(values), of(a, "out").begin() + 10 * i);
  }
});
const Reference kSimd("simd_bytes", [](Arrays& a) {
  for (int i = 0; i < 128; ++i) {
    const u32 x = word(of(a, "a")[i]), y = word(of(a, "b")[i]);
    u32 sum = 0, difference = 0, greatest = 0, dot = 1000, greater = 0;
    for (int b = 0; b < 32; b += 8) {
      const u32 p = x >> b & 0xff, q = y >> b & 0xff;
      sum |= ((p + q) & 0xff) << b;
      difference |= (p > q ? p - q : q - p) << b;
      dot += p * q;
      greater |= (p > q ? 0xffu : 0u) << b;
    }
    u32 of_sum = 0, least = 0, greater_half = 0;
    for (int b = 0; b < 32; b += 16) {
      const u32 p = x >> b & 0xffff, q = y >> b & 0xffff;
      const auto half = [](u32 bits) { return int((bits & 0xffff) ^ 0x8000) - 0x8000; };
      greatest |= std::max(p, q) << b;
      of_sum |= static_cast<u32>(std::max({half(p + q), half(0x00ff8000u >> b), 0})) << b;
      least |= std::min({p, q, u32{0x7fff}}) << b;
      greater_half |= (half(p) >= half(q) ? p : q) << b;
      greater_half ^= half(p) >= half(q) ? (b == 16 ? 1u : 2u) : 0u;
    }
    const u32 values[] = {sum, difference, greatest, dot, greater, of_sum, least, greater_half};
    std::copy(std::begin(values), std::end(values), of(a, "out").begin() + 8 * i);
  }
});
const Reference kInt8("int8_dot", [](Arrays& a) {
  for (int i = 0; i < 4096; ++i) of(a, "out")[i / 512] += of(a, "a")[i % 512] * of(a, "w")[i];
});
const Reference kQuantize("quantize", [](Arrays& a) { of(a, "back") = of(a, "x"); });
const Reference kAtomics("atomics_all", [](Arrays& a) {
  of(a, "i") = {100 + 256 * 255 / 2, 100 - 512, -20, 255, 96, 255, 100, 356};
  of(a, "u") = {0, 0, 3, 4000000255.0, 100, 100, 100, 100};
  double ring = 100, down = 100;
  for (int k = 0; k < 256; ++k) {
    ring = ring >= 149 ? 0 : ring + 1;
    down = down == 0 || down > 99 ? 99 : down - 1;
  }
  of(a, "u")[0] = ring, of(a, "u")[1] = down;
  of(a, "w") = {7 + 32640.0 * 4294967296.0, 255, 3, 7};
  of(a, "d")[0] = 128;
});
const Reference kSpinLock("spin_lock", [](Arrays& a) { of(a, "pair") = {16, 120}; });
const Reference kLastBlock("last_block_reduces", [](Arrays& a) {
  of(a, "out")[0] = std::accumulate(of(a, "in").begin(), of(a, "in").end(), 0.0);
});
const Reference kGlobals("device_globals", [](Arrays& a) {
  const double factors[] = {1, 10, 100, 1000};
  for (int i = 0; i < 64; ++i) of(a, "out")[i] = (i % 16) * (i % 16) * factors[i / 16] + 1001 + "damo"[i % 4];
});
const Reference kCarved("shared_carved", [](Arrays& a) {
  const Values& x = of(a, "x");
  for (int i = 0; i < 128; ++i) of(a, "out")[i] = x[127 - i] > 0 ? 2 * x[127 - i] + x[i] : x[127 - i];
});
const Reference kGrid3d("grid_3d", [](Arrays& a) {
  for (int i = 0; i < 480; ++i) of(a, "out")[i] = i % 10 + 100 * (i / 10 % 8) + 10000 * (i / 80);
});
const Reference kSphere("vector_math_operators", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) {
    const double x = (i % 16 + 0.5) / 16 - 0.5, y = (i / 16 + 0.5) / 16 - 0.5, length = std::sqrt(x * x + y * y + 1);
    const double b = -3 / length, root = b * b - 8;
    if (root <= 0) continue;
    const double t = (-b - std::sqrt(root)) / length;  // the hit is on the unit sphere: its own normal
    of(a, "out")[i] = std::max(0.0, (t * x + t * y - (t - 3)) / std::sqrt(3.0));
  }
});
const Reference kSieve("prime_sieve", [](Arrays& a) {
  for (int n = 4; n < 2000; ++n) {
    for (int d = 2; d * d <= n; ++d) {
      if (n % d == 0) of(a, "composite")[n] = 1;
    }
  }
});
const Reference kGcd("gcd_pairs", [](Arrays& a) {
  for (int i = 0; i < 256; ++i) of(a, "g")[i] = std::gcd(whole(of(a, "a")[i]), whole(of(a, "b")[i]));
});
const Reference kBatchnorm("batchnorm_welford", [](Arrays& a) {
  const auto channel = [](int i) { return i / 256 % 3; };
  for (int i = 0; i < 3072; ++i) of(a, "mean")[channel(i)] += of(a, "x")[i] / 1024;
  for (int i = 0; i < 3072; ++i) of(a, "var")[channel(i)] += std::pow(of(a, "x")[i] - of(a, "mean")[channel(i)], 2) / 1024;
});
const Reference kMaxpool("maxpool_im2col", [](Arrays& a) {
  const Values& in = of(a, "in");
  for (int i = 0; i < 128; ++i) {
    const int at = i / 64 * 256 + i / 8 % 8 * 32 + i % 8 * 2;
    of(a, "pooled")[i] = std::max({in[at], in[at + 1], in[at + 16], in[at + 17]});
  }
  for (int i = 0; i < 4608; ++i) {
    const int tap = i / 256, x = i % 16 + tap % 3 - 1, y = i / 16 % 16 + tap / 3 % 3 - 1;
    of(a, "columns")[i] = x < 0 || y < 0 || x > 15 || y > 15 ? 0 : in[tap / 9 * 256 + y * 16 + x];
  }
});
const Reference kLstm("lstm_pointwise", [](Arrays& a) {
  const auto sigmoid = [](double x) { return 1 / (1 + std::exp(-x)); };
  const Values& g = of(a, "gates");
  for (int i = 0; i < 128; ++i) {
    double& c = of(a, "c")[i];
    c = sigmoid(g[128 + i]) * c + sigmoid(g[i]) * std::tanh(g[256 + i]);
    of(a, "h")[i] = sigmoid(g[384 + i]) * std::tanh(c);
  }
});
const Reference kSpecial("special_functions", [](Arrays& a) {
  for (int i = 0; i < 200; ++i) {
    const double x = of(a, "x")[i];
    const double values[] = {std::sin(M_PI * x), std::cos(M_PI * x), x, x, 1 / std::cbrt(x), std::lgamma(3 * x), std::hypot(x, 2.0, 3.0),
                             std::fmod(7 * x, 1) + 100 * std::floor(7 * x), ::j0(x)};
    std::copy(std::begin(values), std::end(values), of(a, "out").begin() + 9 * i);
  }
});
const Reference kRounding("rounding_intrinsics", [](Arrays& a) { of(a, "ok").assign(200, 1); });
const Reference kUnions("unions_bitfields", [](Arrays& a) {
  for (int i = 0; i < 128; ++i) {
    const u32 x = word(of(a, "in")[i]);
    of(a, "out")[i] = i % 2 ? (x & 0xff) + (x >> 8 & 0xff) + (x >> 16 & 0xff) + (x >> 24) : (x & 31) * 64 + (x >> 5 & 63);
  }
});
const Reference kStrided("strided_view", [](Arrays& a) {
  for (int i = 0; i < 600; ++i) of(a, "row_sums")[i % 30] += of(a, "x")[i];
});
const Reference kPhiloxCurand("philox_curand", [](Arrays& a) {
  const auto block = [](u32 c0, u32 c2) {
    std::array<u32, 4> c{c0, 0, c2, 0};
    u32 k0 = 99, k1 = 0;
    for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
      const u64 p = u64{0xD2511F53} * c[0], q = u64{0xCD9E8D57} * c[2];
      c = {static_cast<u32>(q >> 32) ^ c[1] ^ k0, static_cast<u32>(q), static_cast<u32>(p >> 32) ^ c[3] ^ k1, static_cast<u32>(p)};
    }
    return c;
  };
  for (u32 i = 0; i < 64; ++i) {
    const auto first = block(0, i), second = block(1, i);
    for (int w = 0; w < 4; ++w) of(a, "words")[i * 4 + w] = first[w];
    const double u = (second[0] + 0.5) * 0x1p-32, angle = (second[1] + 0.5) * 0x1p-32 * 2 * M_PI;
    of(a, "normals")[i] = std::sqrt(-2 * std::log(u)) * std::sin(angle);
  }
});

}  // namespace
}  // namespace damo::corpus
