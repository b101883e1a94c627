// Plans of the CPU's Fourier transforms against sums in long double.
#include "runtime/cpu/fourier_plan.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace damo::cpu_backend {
namespace {

using Complex = std::complex<long double>;

/// One element of the transform, summed up term by term.
Complex element_of_sum(const std::vector<Complex>& x, std::size_t k) {
  Complex sum = 0;
  const std::size_t n = x.size();
  for (std::size_t j = 0; j < n; ++j) {
    const long double angle = -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) / static_cast<long double>(n);
    sum += x[j] * Complex(std::cos(angle), std::sin(angle));
  }
  return sum;
}

std::vector<Complex> noise(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<Complex> x(n);
  for (Complex& value : x) value = {uniform(random), uniform(random)};
  return x;
}

template <class T>
std::vector<Complex> transformed(const std::vector<std::vector<Complex>>& arrays, bool inverse, std::size_t which) {
  const std::size_t n = arrays[0].size(), count = arrays.size();
  std::vector<T> memory(4 * n * count, std::numeric_limits<T>::quiet_NaN());
  SplitArrays<T> x{memory.data(), memory.data() + n * count}, other{memory.data() + 2 * n * count, memory.data() + 3 * n * count};
  for (std::size_t b = 0; b < count; ++b) {
    for (std::size_t j = 0; j < n; ++j) x.re[j * count + b] = static_cast<T>(arrays[b][j].real()), x.im[j * count + b] = static_cast<T>(arrays[b][j].imag());
  }
  if (inverse) std::swap(x.re, x.im), std::swap(other.re, other.im);
  const FourierPlan<T> plan(static_cast<std::int64_t>(n));
  std::vector<T> scratch(static_cast<std::size_t>(plan.scratch()) * count, std::numeric_limits<T>::quiet_NaN());
  plan.run(x, other, static_cast<std::int64_t>(count), scratch.data());
  if (inverse) std::swap(x.re, x.im);
  std::vector<Complex> result(n);
  for (std::size_t k = 0; k < n; ++k) result[k] = {x.re[k * count + which], x.im[k * count + which]};
  return result;
}

/// The error's norm over the result's, of all elements or of some spread over them.
template <class T>
long double error_of_plan(std::size_t n) {
  const std::vector<std::vector<Complex>> arrays{noise(n, 1), noise(n, 2), noise(n, 3)};
  const std::vector<Complex> got = transformed<T>(arrays, false, 1);
  long double wrong = 0, all = 0;
  for (std::size_t k = 0; k < n; k += std::max<std::size_t>(n / 5, 1)) {
    const Complex want = element_of_sum(arrays[1], k);
    wrong += std::norm(got[k] - want);
    all += std::norm(want);
  }
  return std::sqrt(wrong / all);
}

TEST(FourierPlan, IsTheSumWhateverTheFactors) {
  for (std::size_t n = 1; n <= 70; ++n) {
    const long double bound = std::numeric_limits<double>::epsilon() * (2 + std::log2(static_cast<long double>(n)));
    EXPECT_LE(error_of_plan<double>(n), bound) << n;
  }
}

TEST(FourierPlan, LosesNoMoreThanTheLogarithmOfItsExtent) {
  for (std::size_t n : {1024u, 16384u, 6561u, 30030u, 10007u}) {
    const long double steps = std::log2(static_cast<long double>(n));
    EXPECT_LE(error_of_plan<float>(n), std::numeric_limits<float>::epsilon() * steps) << n;
    EXPECT_LE(error_of_plan<double>(n), std::numeric_limits<double>::epsilon() * steps) << n;
  }
}

TEST(FourierPlan, ComesBackTimesTheExtent) {
  for (std::size_t n : {12u, 31u, 360u}) {
    const std::vector<Complex> x = noise(n, 7), there = transformed<double>({x}, false, 0), back = transformed<double>({there}, true, 0);
    for (std::size_t j = 0; j < n; ++j) EXPECT_LT(std::abs(back[j] / static_cast<long double>(n) - x[j]), 1e-14) << n;
  }
}

TEST(FourierPlan, KeepsArraysSideBySideApart) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::vector<Complex>> arrays{noise(20, 1), noise(20, 2)};
  const std::vector<Complex> alone = transformed<float>({arrays[1]}, false, 0);
  arrays[0][3] = nan;
  EXPECT_EQ(transformed<float>(arrays, false, 1), alone);
}

TEST(FourierPlan, HasRootsThatAreRoundedOnce) {
  const RootsOfUnity<double> roots(12, 12);
  EXPECT_EQ(roots.re[0], 1);
  EXPECT_EQ(roots.im[3], -1);
  EXPECT_EQ(roots.re[3], 0);
  EXPECT_EQ(roots.im[6], 0);
  EXPECT_EQ(roots.im[9], 1);
  EXPECT_EQ(roots.re[2], 0.5);
  EXPECT_EQ(roots.re[4], -0.5);
  const RootsOfUnity<double> fine(100003, 100003);
  for (std::size_t k : {1u, 7777u, 50001u, 99999u}) {
    const long double angle = 2 * std::numbers::pi_v<long double> * static_cast<long double>(k) / 100003;
    EXPECT_NEAR(fine.re[k], static_cast<double>(std::cos(angle)), 2e-16);
    EXPECT_NEAR(fine.im[k], -static_cast<double>(std::sin(angle)), 2e-16);
  }
}

}  // namespace
}  // namespace damo::cpu_backend
