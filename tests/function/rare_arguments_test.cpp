// sin, cos and tan compute most arguments in one way and the rare ones, which are far from 0 or no numbers, in another: a value may not depend
// on which other arguments stand in a vector with its own.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <damo/damo.hpp>

namespace damo {
namespace {

struct RareArgument {
  const char* name;
  Variable (*of)(const Variable& x);
  double (*truth)(double x);
};
const RareArgument kRareArguments[] = {{"sin", [](const Variable& x) { return sin(x); }, [](double x) { return std::sin(x); }},
                                       {"cos", [](const Variable& x) { return cos(x); }, [](double x) { return std::cos(x); }},
                                       {"tan", [](const Variable& x) { return tan(x); }, [](double x) { return std::tan(x); }},
                                       {"masked", [](const Variable& x) { return where(gt(x, 0.5), sin(x) * 2.0, tan(x)); }, [](double x) { return x > 0.5 ? std::sin(x) * 2.0 : std::tan(x); }}};

/// Near 0 but for one of so many.
std::vector<double> arguments(int size, int one_of, std::mt19937& random) {
  const double rare[] = {131073, 1e6, -3e7, 131072, 1048577, 1e30, -2e38, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(), std::nan("")};
  std::uniform_real_distribution<double> near(-300, 300);
  std::vector<double> x(static_cast<std::size_t>(size));
  for (double& value : x) value = random() % static_cast<unsigned>(one_of) == 0 ? rare[random() % std::size(rare)] : near(random);
  x[0] = -0.0;
  return x;
}

std::vector<std::byte> bytes_of(const Array& array) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(array.size()) * itemsize(array.dtype()));
  std::memcpy(bytes.data(), array.data(), bytes.size());
  return bytes;
}

TEST(RareArguments, DecideForThemselvesAlone) {
  const Device cpu("cpu");
  std::mt19937 random(1);
  for (const RareArgument& each : kRareArguments) {
    for (const DType dtype : {float16, float32, float64}) {
      const Variable x = vector("x", dtype);
      const Function f = function({x}, {each.of(x)}, {.device = cpu});
      for (const int one_of : {5, 40, 100000}) {
        const Array given = astype(Array::from(arguments(219, one_of, random), cpu), dtype);
        const Array together = f(given);
        const std::vector<double> values = together.to_doubles(), rounded = given.to_doubles();
        const std::vector<std::byte> all = bytes_of(together);
        for (std::int64_t i = 0; i < given.size(); ++i) {
          const std::vector<std::byte> alone = bytes_of(Array(f(given.slice({{i, i + 1}}))));
          const auto at = static_cast<std::size_t>(i);
          EXPECT_EQ(std::memcmp(alone.data(), all.data() + at * alone.size(), alone.size()), 0) << each.name << " of " << rounded[at] << ", " << name(dtype);
          const double truth = each.truth(rounded[at]);
          if (std::isnan(truth)) EXPECT_TRUE(std::isnan(values[at])) << each.name << " of " << rounded[at];
          else if (dtype == float16 && std::abs(truth) > 65519) EXPECT_TRUE(std::isinf(values[at])) << each.name << " of " << rounded[at];
          else EXPECT_NEAR(values[at], truth, std::abs(truth) * (dtype == float16 ? 1e-3 : dtype == float32 ? 1.5e-7 : 3e-16) + (dtype == float16 ? 6e-8 : 0)) << each.name << " of " << rounded[at] << ", " << name(dtype);
        }
        EXPECT_EQ(std::signbit(values[0]), std::signbit(each.truth(-0.0)));
      }
    }
  }
}

TEST(RareArguments, StandInSums) {
  const Device cpu("cpu");
  std::mt19937 random(2);
  const Variable x = matrix("x", float64);
  const Function f = function({x}, {sum(sin(x), 1), max(cos(x), 0), cumsum(sin(x), 1)}, {.device = cpu});
  std::vector<double> numbers = arguments(7 * 301, 30, random);
  for (double& number : numbers) number = std::isfinite(number) ? number : 1e200;
  const Results results = f(Array::from(numbers, cpu).reshape({7, 301}));
  const std::vector<double> sums = results[0].to_doubles(), most = results[1].to_doubles(), steps = results[2].to_doubles();
  for (std::size_t row = 0; row < 7; ++row) {
    double total = 0;
    for (std::size_t i = 0; i < 301; ++i) {
      total += std::sin(numbers[row * 301 + i]);
      EXPECT_NEAR(steps[row * 301 + i], total, 1e-12);
    }
    EXPECT_NEAR(sums[row], total, 1e-12);
  }
  for (std::size_t column = 0; column < 301; ++column) {
    double greatest = -2;
    for (std::size_t row = 0; row < 7; ++row) greatest = std::max(greatest, std::cos(numbers[row * 301 + column]));
    EXPECT_NEAR(most[column], greatest, 1e-15);
  }
}

}  // namespace
}  // namespace damo
