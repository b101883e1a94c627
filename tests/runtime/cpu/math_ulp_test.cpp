// Measures the CPU prelude's functions against the C library in a wider type and prints the table that docs quote.
// float against double over patterns spread evenly over all of them (DAMO_TEST_FULL_SWEEP=1: each of the 2^32), double
// against long double over random patterns, the ranges where each function does its work, and special values.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#ifdef DAMO_TEST_MPFR
#include <mpfr.h>
#endif

#include "math_functions.hpp"

namespace damo::math_test {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

// One row a function: the truth in a wider type and the bounds in ulp that we state.
template <class W>
struct Truth {
  const char* name;
  W (*of)(W x, W y);
};
struct Bound {
  const char* name;
  bool two;              ///< arguments
  double f32, f64;       ///< with FMA
  double f32_plain, f64_plain;  ///< without
};

// clang-format off
const Bound kBounds[] = {
    {"exp", false, 2, 1, 2.2, 1},        {"exp2", false, 1, 1, 1.5, 1.5},    {"expm1", false, 2, 2, 2, 2},
    {"log", false, 1, 1, 1, 1},        {"log2", false, 1.1, 1, 1.5, 1},      {"log10", false, 1.1, 1, 1.5, 1},
    {"log1p", false, 1.5, 1.5, 1.5, 1.5}, {"sqrt", false, 0.5, 0.5, 0.5, 0.5}, {"rsqrt", false, 1.5, 1.5, 1.5, 1.5},
    {"cbrt", false, 0.51, 0.55, 0.51, 0.55}, {"sin", false, 0.9, 1, 0.9, 1}, {"cos", false, 0.9, 1, 0.9, 1},
    {"tan", false, 1.1, 1, 1.1, 1},    {"asin", false, 1.5, 1.5, 1.5, 1.5}, {"acos", false, 1.5, 1.5, 1.5, 1.5},
    {"atan", false, 1.6, 2, 2, 2},   {"sinh", false, 0.6, 2, 0.6, 2},    {"cosh", false, 0.6, 2, 0.6, 2},
    {"tanh", false, 2, 2, 2, 2.2},   {"asinh", false, 0.6, 1.5, 0.6, 1.5}, {"acosh", false, 0.6, 1.5, 0.6, 1.5},
    {"atanh", false, 0.6, 1.5, 0.6, 1.5}, {"erf", false, 1.5, 1.5, 1.5, 1.5}, {"erfc", false, 0.6, 1.5, 0.6, 1.5},
    {"sigmoid", false, 2, 2, 2, 2},    {"softplus", false, 2, 2, 2, 2},    {"floor", false, 0, 0, 0, 0},
    {"ceil", false, 0, 0, 0, 0},       {"trunc", false, 0, 0, 0, 0},       {"rint", false, 0, 0, 0, 0},
    {"round", false, 0, 0, 0, 0},      {"fabs", false, 0, 0, 0, 0},        {"pow", true, 0.6, 1, 0.6, 1},
    {"atan2", true, 2, 2, 2, 2},       {"hypot", true, 0.6, 1.5, 0.6, 1.5}, {"fmod", true, 0, 0, 0, 0},
    {"fmin", true, 0, 0, 0, 0},        {"fmax", true, 0, 0, 0, 0},         {"copysign", true, 0, 0, 0, 0}};

#define DAMO_TRUTH1(f) {#f, [](W x, W) -> W { return std::f(x); }}
#define DAMO_TRUTH2(f) {#f, [](W x, W y) -> W { return std::f(x, y); }}
template <class W>
const Truth<W> kTruths[] = {
    DAMO_TRUTH1(exp), DAMO_TRUTH1(exp2), DAMO_TRUTH1(expm1), DAMO_TRUTH1(log), DAMO_TRUTH1(log2), DAMO_TRUTH1(log10),
    DAMO_TRUTH1(log1p), DAMO_TRUTH1(sqrt), {"rsqrt", [](W x, W) -> W { return 1 / std::sqrt(x); }}, DAMO_TRUTH1(cbrt),
    DAMO_TRUTH1(sin), DAMO_TRUTH1(cos), DAMO_TRUTH1(tan), DAMO_TRUTH1(asin), DAMO_TRUTH1(acos), DAMO_TRUTH1(atan),
    DAMO_TRUTH1(sinh), DAMO_TRUTH1(cosh), DAMO_TRUTH1(tanh), DAMO_TRUTH1(asinh), DAMO_TRUTH1(acosh), DAMO_TRUTH1(atanh),
    DAMO_TRUTH1(erf), DAMO_TRUTH1(erfc),
    {"sigmoid", [](W x, W) -> W { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }},
    {"softplus", [](W x, W) -> W { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
    DAMO_TRUTH1(floor), DAMO_TRUTH1(ceil), DAMO_TRUTH1(trunc), DAMO_TRUTH1(rint), DAMO_TRUTH1(round), DAMO_TRUTH1(fabs),
    DAMO_TRUTH2(pow), DAMO_TRUTH2(atan2), DAMO_TRUTH2(hypot), DAMO_TRUTH2(fmod),
    // The number where the other is NaN; the first of two that are equal, where C leaves a zero's sign open.
    {"fmin", [](W x, W y) -> W { return std::isnan(y) ? x : (y < x || std::isnan(x) ? y : x); }},
    {"fmax", [](W x, W y) -> W { return std::isnan(y) ? x : (y > x || std::isnan(x) ? y : x); }},
    DAMO_TRUTH2(copysign)};
// clang-format on
constexpr std::size_t kFunctions = std::size(kBounds);

// Distance in units of the last place of T at want; a wrong NaN, infinity or zero's sign is 1e6 or more.
template <class T, class W>
double ulps(T got, W want) {
  using Limits = std::numeric_limits<T>;
  constexpr int kMinExponent = Limits::min_exponent - 1, kMaxExponent = Limits::max_exponent - 1;
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e6;
  if (std::isnan(got)) return 2e6;
  const W size = std::fabs(want);
  const bool overflows = size >= W(Limits::max()) + std::ldexp(W(1), kMaxExponent - Limits::digits);
  if (std::isinf(got)) return overflows && std::signbit(got) == std::signbit(want) ? 0 : 3e6;
  if (std::isinf(want)) return 4e6;
  if (got == 0 && want == 0) return std::signbit(got) == std::signbit(want) ? 0 : 5e6;
  const int e = std::clamp(size == 0 ? kMinExponent : std::ilogb(size), kMinExponent, kMaxExponent);
  return double(std::fabs(W(got) - want) * std::ldexp(W(1), Limits::digits - 1 - e));
}

struct Worst {
  double ulps = -1;
  double x = 0, y = 0;
  void take(double u, double at_x, double at_y) {
    if (u > ulps) ulps = u, x = at_x, y = at_y;
  }
  void take(const Worst& other) { take(other.ulps, other.x, other.y); }
};

std::vector<Build> builds() {
  std::vector<Build> result = {build_without_fma()};
#if defined(__x86_64__) || defined(__i386__)
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2")) result.push_back(build_with_fma());
#endif
  return result;
}

template <class T>
const Loop<T>* loops(const Build& build) {
  if constexpr (std::is_same_v<T, float>) return build.floats;
  else return build.doubles;
}

// The worst of function f over the arguments, for each build.
template <class T>
void measure(std::size_t f, const std::vector<T>& x, const std::vector<T>& y, const std::vector<Build>& all, std::vector<Worst>& worst) {
  std::vector<Wide<T>> want(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) want[i] = kTruths<Wide<T>>[f].of(x[i], y[i]);
  std::vector<T> got(x.size());
  for (std::size_t b = 0; b < all.size(); ++b) {
    loops<T>(all[b])[f].run(x.data(), y.data(), got.data(), long(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) worst[b].take(ulps(got[i], want[i]), double(x[i]), double(y[i]));
  }
}

template <class T>
std::vector<T> special_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> v = {0, 1, 0.5, 0.25, 2, 3, 4, 5, 1.5, 2.5, 0.75, 10, 100, 1e-3, L::infinity(), L::quiet_NaN(), L::max(), L::min(),
                      L::denorm_min(), L::min() - L::denorm_min(), L::epsilon(), 1 + L::epsilon(), 1 - L::epsilon() / 2,
                      T(1) / L::epsilon(), 2 / L::epsilon() + 2, T(0.6931471805599453), T(1.5707963267948966), T(3.141592653589793)};
  for (T edge : {T(88.72284), T(88.72283), T(-103.97), T(-87.33), T(709.782712893384), T(-745.13), T(-708.4), T(1024), T(128), T(710.4758)}) v.push_back(edge);
  const std::size_t n = v.size();
  for (std::size_t i = 0; i < n; ++i) v.push_back(-v[i]);
  return v;
}

// Arguments for two-argument functions and for double: random patterns, and the regions where the work is done.
template <class T>
void random_arguments(std::uint64_t seed, std::size_t n, std::vector<T>& x, std::vector<T>& y) {
  using Bits = std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>;
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> u(0, 1);
  const double top = std::is_same_v<T, float> ? 89 : 711;
  while (x.size() < n) {
    const double sign = random() & 1 ? 1 : -1, other = random() & 1 ? 1 : -1;
    const auto put = [&](double a, double b) { x.push_back(T(a)), y.push_back(T(b)); };
    x.push_back(std::bit_cast<T>(Bits(random())));
    y.push_back(std::bit_cast<T>(Bits(random())));
    put(sign * u(random), other * u(random));
    put(sign * std::exp(u(random) * 7 - 0.5), (u(random) - 0.5) * 40);
    put(sign * std::exp(-u(random) * 40), (u(random) - 0.5) * top);
    put(1 + sign * std::exp(-u(random) * 36), other * std::exp(u(random) * 40));
    put(sign * u(random) * top * 1.05, u(random) * 30 - 15);
    put(sign * u(random) * 1.2, other * u(random) * 3);
    put(std::floor(sign * u(random) * 20), std::floor(other * u(random) * 20));
    put(sign * u(random) * 30, u(random));
  }
}

template <class Work>
void on_all_cores(Work work) {
  const unsigned cores = std::max(1u, std::min(8u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < cores; ++t) threads.emplace_back([=] { work(t, cores); });
  for (std::thread& thread : threads) thread.join();
}

std::vector<Worst> sweep_float(std::size_t f, const std::vector<Build>& all) {
  const bool full = std::getenv("DAMO_TEST_FULL_SWEEP") != nullptr;
  const std::uint64_t stride = full ? 1 : 1021;  // prime: 4.2 million patterns
  std::vector<std::vector<Worst>> parts(8, std::vector<Worst>(all.size()));
  on_all_cores([&, f, stride](unsigned t, unsigned cores) {
    constexpr std::size_t kChunk = 4096;
    std::vector<float> x(kChunk), y(kChunk, 0.0f);
    for (std::uint64_t chunk = t;; chunk += cores) {
      std::size_t n = 0;
      for (; n < kChunk && (chunk * kChunk + n) * stride < (1ull << 32); ++n) x[n] = std::bit_cast<float>(std::uint32_t((chunk * kChunk + n) * stride));
      if (n == 0) break;
      x.resize(n), y.resize(n);
      measure<float>(f, x, y, all, parts[t]);
      x.resize(kChunk), y.resize(kChunk);
    }
  });
  for (const auto& part : parts)
    for (std::size_t b = 0; b < all.size(); ++b) parts[0][b].take(part[b]);
  return parts[0];
}

template <class T>
std::vector<Worst> sweep_random(std::size_t f, const std::vector<Build>& all, std::size_t n) {
  std::vector<std::vector<Worst>> parts(8, std::vector<Worst>(all.size()));
  on_all_cores([&, f, n](unsigned t, unsigned cores) {
    std::vector<T> x, y;
    if (t == 0) {
      for (T a : special_values<T>())
        for (T b : special_values<T>()) x.push_back(a), y.push_back(b);
    }
    random_arguments<T>(f * 100 + t, x.size() + n / cores, x, y);
    measure<T>(f, x, y, all, parts[t]);
  });
  for (const auto& part : parts)
    for (std::size_t b = 0; b < all.size(); ++b) parts[0][b].take(part[b]);
  return parts[0];
}

bool has_fma(const Build& build) { return std::string(build.name) == "build_with_fma"; }

TEST(CpuMath, StaysWithinTheStatedUlp) {
  const std::vector<Build> all = builds();
  std::printf("ulp, worst found (bound)\n%-10s", "");
  for (int type = 0; type < 2; ++type)
    for (const Build& build : all) std::printf(" %-6s %-11s", type == 0 ? "float" : "double", has_fma(build) ? "FMA" : "no FMA");
  std::printf("\n");
  for (std::size_t f = 0; f < kFunctions; ++f) {
    const Bound& bound = kBounds[f];
    ASSERT_STREQ(bound.name, kTruths<double>[f].name);
    ASSERT_STREQ(bound.name, all[0].floats[f].name);
    std::vector<Worst> f32 = sweep_random<float>(f, all, bound.two ? 1000000 : 100000);
    if (!bound.two) {
      const std::vector<Worst> even = sweep_float(f, all);
      for (std::size_t b = 0; b < all.size(); ++b) f32[b].take(even[b]);
    }
    const std::vector<Worst> f64 = sweep_random<double>(f, all, 300000);
    std::printf("%-10s", bound.name);
    for (std::size_t b = 0; b < all.size(); ++b) {
      const double limit = has_fma(all[b]) ? bound.f32 : bound.f32_plain;
      std::printf(" %6.3f (%4.2f)     ", f32[b].ulps, limit);
      EXPECT_LE(f32[b].ulps, limit + 1e-6) << bound.name << "(float), " << all[b].name << " at " << f32[b].x << ", " << f32[b].y;
    }
    for (std::size_t b = 0; b < all.size(); ++b) {
      const double limit = has_fma(all[b]) ? bound.f64 : bound.f64_plain;
      std::printf(" %6.3f (%4.2f)     ", f64[b].ulps, limit);
      // The truth itself is a long double's ulp off, 2^-11 of ours.
      EXPECT_LE(f64[b].ulps, limit + 0.002) << bound.name << "(double), " << all[b].name << " at " << f64[b].x << ", " << f64[b].y;
    }
    std::printf("\n");
  }
}

// The long double functions of the C library are the truth above; here MPFR is, for those that can be hard.
// An underflow takes a processor as long as many products, and a mask's -inf would make one of each element.
template <class T>
void expect_no_underflow(const Loop<T>* loops) {
  const std::vector<T> x = {-std::numeric_limits<T>::infinity(), std::numeric_limits<T>::lowest(), T(-1e9), T(-10000), T(-2048), 0, 1};
  const auto count = static_cast<long>(x.size());
  for (const Loop<T>* loop = loops; loop->name != nullptr; ++loop) {
    const std::string name = loop->name;
    if (name != "exp" && name != "exp2" && name != "sigmoid" && name != "softplus") continue;
    std::vector<T> out(x.size(), 1);
    std::feclearexcept(FE_ALL_EXCEPT);
    loop->run(x.data(), x.data(), out.data(), count);
    EXPECT_FALSE(std::fetestexcept(FE_UNDERFLOW)) << name << " of " << sizeof(T) << " bytes";
    EXPECT_EQ(std::vector<T>(out.begin(), out.begin() + 5), std::vector<T>(5, 0)) << name;
  }
}

TEST(CpuMath, WhatAMaskLeavesOutDoesNotUnderflow) {
  for (const Build& build : builds()) {
    SCOPED_TRACE(build.name);
    expect_no_underflow(build.floats);
    expect_no_underflow(build.doubles);
  }
}

#ifdef DAMO_TEST_MPFR
TEST(CpuMath, AgreesWithMpfrInDouble) {
  using Mpfr = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
  const std::pair<const char*, Mpfr> kMpfr[] = {{"exp", mpfr_exp}, {"expm1", mpfr_expm1}, {"log", mpfr_log}, {"log1p", mpfr_log1p},
                                                {"sin", mpfr_sin}, {"cos", mpfr_cos}, {"tan", mpfr_tan}, {"asin", mpfr_asin},
                                                {"acos", mpfr_acos}, {"atan", mpfr_atan}, {"sinh", mpfr_sinh}, {"tanh", mpfr_tanh},
                                                {"asinh", mpfr_asinh}, {"acosh", mpfr_acosh}, {"atanh", mpfr_atanh}, {"erf", mpfr_erf},
                                                {"erfc", mpfr_erfc}, {"cbrt", mpfr_cbrt}};
  const std::vector<Build> all = builds();
  mpfr_t a, r;
  mpfr_init2(a, 53);
  mpfr_init2(r, 64);
  for (const auto& [name, function] : kMpfr) {
    std::size_t f = 0;
    while (std::string(kBounds[f].name) != name) ++f;
    std::vector<double> x, y;
    random_arguments<double>(f, 6000, x, y);
    // The double closest to a multiple of pi/2, and its like.
    for (double hard : {6381956970095103.0 * 0x1p797, 0x1.6ac5b262ca1ffp+849, 0x1.921fb54442d18p+0, 0x1p1023}) x.push_back(hard), y.push_back(0);
    std::vector<double> got(x.size());
    for (const Build& build : all) {
      build.doubles[f].run(x.data(), y.data(), got.data(), long(x.size()));
      Worst worst;
      for (std::size_t i = 0; i < x.size(); ++i) {
        mpfr_set_d(a, x[i], MPFR_RNDN);
        function(r, a, MPFR_RNDN);
        worst.take(ulps(got[i], mpfr_get_ld(r, MPFR_RNDN)), x[i], 0);
      }
      EXPECT_LE(worst.ulps, (has_fma(build) ? kBounds[f].f64 : kBounds[f].f64_plain) + 0.002) << name << " " << build.name << " at " << worst.x;
    }
  }
  mpfr_clear(a);
  mpfr_clear(r);
}
#endif

}  // namespace
}  // namespace damo::math_test
