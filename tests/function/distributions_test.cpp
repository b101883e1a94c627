// What is drawn is what its distribution says: normal numbers and exponential ones against the transforms in long double of the words that they come from;
// moments, Kolmogorov and Smirnov's distance, and counts of each against the distribution. Seeds are fixed and limits are a chance of about 1 in 10,000, so
// a test says the same at every run.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using Values = std::vector<double>;
using Cumulative = std::function<double(double)>;

constexpr std::int64_t kMany = 200000;

class Distributions : public testing::OnEachDevice {
 protected:
  RandomGenerator generator(std::uint64_t seed = 2026) const { return RandomGenerator(seed, device()); }
};

double normal_cumulative(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// The greatest distance between the sample's distribution and another one, times sqrt(n): above 2.23 once in 10,000.
double distance(Values sample, const Cumulative& cumulative) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double greatest = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cumulative(sample[i]);
    greatest = std::max({greatest, f - static_cast<double>(i) / n, (static_cast<double>(i) + 1) / n - f});
  }
  return greatest * std::sqrt(n);
}

/// How far the mean is from the expected one, in standard deviations of a mean.
double off(const Values& sample, double mean, double variance) {
  const double sum = std::accumulate(sample.begin(), sample.end(), 0.0), n = static_cast<double>(sample.size());
  return std::fabs(sum / n - mean) / std::sqrt(variance / n);
}

Values squares(Values sample) {
  for (double& x : sample) x *= x;
  return sample;
}

/// Chi-square of counts against expected ones, as standard deviations from its mean.
double excess(const Values& counts, const Values& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) sum += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  const auto degrees = static_cast<double>(counts.size() - 1);
  return (sum - degrees) / std::sqrt(2 * degrees);
}

Values counts_of(const Values& sample, int classes) {
  Values counts(static_cast<std::size_t>(classes), 0);
  for (double x : sample) counts.at(static_cast<std::size_t>(x)) += 1;
  return counts;
}

/// Regularised lower incomplete gamma function, by its series.
double gamma_cumulative(double alpha, double x) {
  if (x <= 0) return 0;
  if (x > alpha + 40 * std::sqrt(alpha) + 40) return 1;
  double term = 1 / alpha, sum = term;
  for (int n = 1; n < 10000 && term > 1e-17 * sum; ++n) sum += term *= x / (alpha + n);
  return std::min(1.0, sum * std::exp(alpha * std::log(x) - x - std::lgamma(alpha)));
}

using Precise = long double;

/// Box and Muller's transform of two words of that many bits, and what comes first in it.
Precise exact_exponential(std::uint64_t word, int bits) {
  const Precise whole = std::exp2(static_cast<Precise>(bits)), u = (static_cast<Precise>(word) + 0.5L) / whole;
  return u < 0.5L ? -std::log1p(-u) : -std::log((whole - static_cast<Precise>(word) - 0.5L) / whole);
}
Precise exact_normal(std::uint64_t radius, std::uint64_t turn, int bits, bool odd) {
  // The angle's distance from the nearest quarter of a turn, so that what is near 0 is known as well as the rest.
  const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1, quarter = std::uint64_t{1} << (bits - 2);
  const std::uint64_t nearest = ((turn + quarter / 2) & all) >> (bits - 2), rest = (turn - nearest * quarter) & all;
  const Precise units = rest >> (bits - 1) ? -static_cast<Precise>((all - rest) + 1) : static_cast<Precise>(rest);
  const Precise x = 2 * std::numbers::pi_v<Precise> * (units / std::exp2(static_cast<Precise>(bits))), sine = std::sin(x), cosine = std::cos(x);
  const Precise of_cosine[] = {cosine, -sine, -cosine, sine}, of_sine[] = {sine, cosine, -sine, -cosine};
  return std::sqrt(2 * exact_exponential(radius, bits)) * (odd ? of_sine : of_cosine)[nearest & 3];
}

/// The greatest error in units in the last place; of numbers near 0 in those of `least`.
template <class T>
double ulps(const std::vector<T>& found, const std::vector<Precise>& expected, T least) {
  double worst = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const T size = std::max(std::abs(static_cast<T>(expected[i])), least);
    const Precise unit = std::nextafter(size, std::numeric_limits<T>::infinity()) - size;
    worst = std::max(worst, static_cast<double>(std::abs(static_cast<Precise>(found[i]) - expected[i]) / unit));
  }
  return worst;
}

TEST_P(Distributions, TransformWordsToNormalNumbersWithinAFewUlp) {
  RandomGenerator words = generator(), drawn = generator();
  const std::vector<std::uint32_t> w = words.bits({1 << 16}).to_vector<std::uint32_t>();
  const std::vector<std::uint64_t> d = words.bits({1 << 15}, uint64).to_vector<std::uint64_t>();
  const std::vector<float> z = drawn.normal({1 << 16}).to_vector<float>();
  const std::vector<double> wide = drawn.normal({1 << 15}, 0, 1, float64).to_vector<double>();
  std::vector<Precise> expected, expected_wide;
  for (std::size_t i = 0; i < z.size(); ++i) expected.push_back(exact_normal(w[i & ~1u], w[i | 1u], 32, i & 1));
  for (std::size_t i = 0; i < wide.size(); ++i) expected_wide.push_back(exact_normal(d[i & ~1u], d[i | 1u], 64, i & 1));
  EXPECT_LE(ulps(z, expected, 0x1p-20f), 4);
  EXPECT_LE(ulps(wide, expected_wide, 0x1p-20), 4);
}

TEST_P(Distributions, TransformWordsToExponentialNumbersWithinAFewUlp) {
  RandomGenerator words = generator(), drawn = generator();
  const std::vector<std::uint32_t> w = words.bits({1 << 16}).to_vector<std::uint32_t>();
  const std::vector<std::uint64_t> d = words.bits({1 << 15}, uint64).to_vector<std::uint64_t>();
  const std::vector<float> e = drawn.exponential({1 << 16}).to_vector<float>();
  const std::vector<double> wide = drawn.exponential({1 << 15}, 1, float64).to_vector<double>();
  std::vector<Precise> expected, expected_wide;
  for (std::uint32_t word : w) expected.push_back(exact_exponential(word, 32));
  for (std::uint64_t word : d) expected_wide.push_back(exact_exponential(word, 64));
  EXPECT_LE(ulps(e, expected, std::numeric_limits<float>::min()), 3);
  EXPECT_LE(ulps(wide, expected_wide, std::numeric_limits<double>::min()), 3);
}

TEST_P(Distributions, AreEvenOverAnInterval) {
  RandomGenerator random = generator();
  const auto even = [](double x) { return std::clamp((x + 2) / 5, 0.0, 1.0); };
  for (DType dtype : {float32, float64}) {
    const Values sample = random.uniform({kMany}, -2, 3, dtype).to_doubles();
    EXPECT_LT(distance(sample, even), 2.23) << name(dtype);
    EXPECT_GE(*std::min_element(sample.begin(), sample.end()), -2);
    EXPECT_LT(*std::max_element(sample.begin(), sample.end()), 3);
  }
  for (DType dtype : {float16, bfloat16}) {
    const Values sample = random.uniform({kMany}, 0, 1, dtype).to_doubles();
    const int classes = dtype == float16 ? 2048 : 256;
    Values scaled = sample;
    for (double& x : scaled) x *= classes;
    EXPECT_LT(std::fabs(excess(counts_of(scaled, classes), Values(static_cast<std::size_t>(classes), static_cast<double>(kMany) / classes))), 4) << name(dtype);
  }
}

TEST_P(Distributions, AreNormalToTheTails) {
  RandomGenerator random = generator();
  for (DType dtype : {float32, float64}) {
    const Values sample = random.normal({kMany}, 0, 1, dtype).to_doubles();
    EXPECT_LT(distance(sample, normal_cumulative), 2.23) << name(dtype);
    EXPECT_LT(off(sample, 0, 1), 4);
    EXPECT_LT(off(squares(sample), 1, 2), 4);
    EXPECT_LT(off(squares(squares(sample)), 3, 96), 4);
    Values products(sample.size() - 1);  // neighbours, which are pairs of one transform
    for (std::size_t i = 0; i < products.size(); ++i) products[i] = sample[i] * sample[i + 1];
    EXPECT_LT(off(products, 0, 1), 4);
  }
}

TEST_P(Distributions, AreExponentialAndOfGumbel) {
  RandomGenerator random = generator();
  EXPECT_LT(distance(random.exponential({kMany}, 3).to_doubles(), [](double x) { return 1 - std::exp(-x / 3); }), 2.23);
  EXPECT_LT(distance(random.gumbel({kMany}).to_doubles(), [](double x) { return std::exp(-std::exp(-x)); }), 2.23);
}

TEST_P(Distributions, AreNormalBetweenTwoLimits) {
  RandomGenerator random = generator();
  for (const auto& [low, high] : {std::pair{-1.0, 2.0}, {-3.0, 3.0}, {0.5, 0.75}, {4.0, 9.0}, {-9.0, -4.0}, {0.0, 6.0}}) {
    const double below = normal_cumulative(low), above = normal_cumulative(-high), all = 1 - below - above;
    const auto truncated = [&](double x) { return low > 0 ? (0.5 * std::erfc(low / std::sqrt(2.0)) - normal_cumulative(-x)) / (normal_cumulative(-low) - above) : (normal_cumulative(x) - below) / all; };
    const Values sample = random.truncated_normal({kMany / 4}, low, high, 0, 1, float64).to_doubles();
    EXPECT_LT(distance(sample, truncated), 2.23) << low << " " << high;
    EXPECT_GE(*std::min_element(sample.begin(), sample.end()), low);
    EXPECT_LE(*std::max_element(sample.begin(), sample.end()), high);
  }
}

TEST_P(Distributions, AreOfGamma) {
  RandomGenerator random = generator();
  for (double alpha : {0.2, 0.999, 1.0, 2.5, 40.0}) {
    EXPECT_LT(distance(random.gamma({kMany / 4}, alpha, 1, float64).to_doubles(), [&](double x) { return gamma_cumulative(alpha, x); }), 2.23) << alpha;
    EXPECT_LT(distance(random.gamma({kMany / 4}, alpha, 2).to_doubles(), [&](double x) { return gamma_cumulative(alpha, x / 2); }), 2.23) << alpha;
  }
}

TEST_P(Distributions, AreOfPoisson) {
  RandomGenerator random = generator();
  for (double rate : {0.1, 3.5, 9.99, 10.0, 47.0, 1e4}) {
    const Values sample = random.poisson({kMany / 4}, rate).to_doubles();
    EXPECT_LT(off(sample, rate, rate), 4) << rate;
    Values centred = sample;
    for (double& x : centred) x -= rate;
    EXPECT_LT(off(squares(centred), rate, rate + 2 * rate * rate), 4) << rate;
    if (rate > 50) continue;
    const int classes = static_cast<int>(rate + 3 * std::sqrt(rate)) + 2;
    Values counts(static_cast<std::size_t>(classes), 0), expected(static_cast<std::size_t>(classes), 0);
    double left = kMany / 4;
    for (int k = 0; k + 1 < classes; ++k) left -= expected[static_cast<std::size_t>(k)] = kMany / 4 * std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.0));
    expected.back() = left;
    for (double x : sample) counts[std::min(static_cast<std::size_t>(x), counts.size() - 1)] += 1;
    while (counts.size() > 2 && expected.front() < 10) {
      expected[1] += expected[0], counts[1] += counts[0];
      expected.erase(expected.begin()), counts.erase(counts.begin());
    }
    EXPECT_LT(excess(counts, expected), 4) << rate;
  }
  EXPECT_LT(off(random.poisson({kMany / 4}, 1e15).to_doubles(), 1e15, 1e15), 4);
}

TEST_P(Distributions, AreEvenOverIntegers) {
  RandomGenerator random = generator();
  Values sample = random.randint({kMany}, -5, 95).to_doubles();
  for (double& x : sample) x += 5;
  EXPECT_LT(std::fabs(excess(counts_of(sample, 100), Values(100, kMany / 100.0))), 4);
  // Of 3 * 2^62 integers a remainder of 64 bits would give the first third twice as often.
  const std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::int64_t{1} << 62;
  Values thirds = random.randint({kMany}, low, high).to_doubles();
  for (double& x : thirds) x = std::min(2.0, std::floor((x + 0x1p63) / 0x1p62));
  EXPECT_LT(excess(counts_of(thirds, 3), Values(3, kMany / 3.0)), 4);
}

TEST_P(Distributions, AreTrueWithTheirProbability) {
  RandomGenerator random = generator();
  for (double p : {0.0, 1e-4, 0.3, 0.5, 1.0}) {
    const double found = sum(random.bernoulli({kMany}, p)).to_doubles()[0];
    EXPECT_LE(std::fabs(found - kMany * p), 4 * std::sqrt(kMany * p * (1 - p))) << p;
  }
}

TEST_P(Distributions, ChooseClassesWithTheirProbabilities) {
  RandomGenerator random = generator();
  const Values p = {0.1, 0.0, 0.25, 0.05, 0.6};
  std::vector<float> logits, weights;
  for (double one : p) logits.push_back(static_cast<float>(std::log(one))), weights.push_back(static_cast<float>(3 * one));
  const Shape rows{kMany, 5};
  for (const Array& found : {random.categorical(Array::from(logits, device()).broadcast_to(rows)), random.categorical_of(Array::from(weights, device()).broadcast_to(rows))}) {
    Values counts = counts_of(found.to_doubles(), 5), expected;
    EXPECT_EQ(counts[1], 0);
    for (double one : p) expected.push_back(one * kMany);
    counts.erase(counts.begin() + 1), expected.erase(expected.begin() + 1);
    EXPECT_LT(excess(counts, expected), 4);
  }
}

DAMO_ON_EACH_DEVICE(Distributions);

}  // namespace
}  // namespace damo
