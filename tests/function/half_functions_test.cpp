// Functions of 16-bit floats whose shorter forms stand in kernels (kernel/half_code.hpp), on each device: of every number, before it is rounded.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>

#include "support/devices.hpp"

namespace damo {
namespace {

struct HalfFunction {
  const char* name;
  std::function<Variable(const Variable&)> of;
  std::function<double(double)> truth;
  double bound = 0x1p-16;
};

double logistic(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

const HalfFunction kHalfFunctions[] = {{"exp", [](const Variable& x) { return exp(x); }, [](double x) { return std::exp(x); }},
                                       {"sigmoid", [](const Variable& x) { return sigmoid(x); }, logistic},
                                       {"softplus", [](const Variable& x) { return softplus(x); }, [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }},
                                       {"erfc", [](const Variable& x) { return erfc(x); }, [](double x) { return std::erfc(x); }},
                                       {"silu", [](const Variable& x) { return silu(x); }, [](double x) { return x * logistic(x); }},
                                       {"gelu", [](const Variable& x) { return gelu(x); }, [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); }, 0x1p-15}};  // in its tail what erfc is of is rounded, in float32 too

class HalfFunctions : public testing::OnEachDevice {};

TEST_P(HalfFunctions, AreRightToTheirBoundOfEveryNumber) {
  std::vector<std::uint16_t> patterns(65536);
  for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::uint16_t>(i);
  for (DType dtype : {bfloat16, float16}) {
    const Array bits = Array::from(patterns, {65536}, device()), given = bits.view(dtype, {65536}, {1}, 0);
    const std::vector<double> numbers = given.to_doubles();
    for (const HalfFunction& each : kHalfFunctions) {
      const Variable x = vector("x", dtype);
      const Function f = function({x}, {astype(each.of(x), float32)}, {.device = device()});
      ASSERT_EQ(f.graph().node_count(), 1) << "one kernel, which does not round between its steps";
      const std::vector<double> found = f(given)[0].to_doubles();
      double worst = 0, worst_at = 0;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const double truth = each.truth(numbers[i]);
        if (std::isnan(truth)) {
          EXPECT_TRUE(std::isnan(found[i])) << each.name << "(" << numbers[i] << ") is " << found[i];
          continue;
        }
        if (std::abs(truth) > 3.4028235e38) continue;  // infinite, or nearly
        const double part = std::abs(found[i] - truth) / std::max(std::abs(truth), 0x1p-126);
        if (!(part <= worst)) worst = part, worst_at = numbers[i];
      }
      EXPECT_LE(worst, each.bound) << each.name << " of " << std::string(name(dtype)) << " " << worst_at << ": off by 2^" << std::log2(worst);
    }
  }
}

TEST_P(HalfFunctions, AreNotThoseOfFloat32) {
  const Variable x = vector("x", bfloat16);
  const Function f = function({x}, {astype(erfc(x), float32), erfc(astype(x, float32))}, {.device = device()});
  const Results found = f(astype(Array::from(std::vector<double>{0.3, 0.7, 1.1, 1.9, 2.7}, {5}, device()), bfloat16));
  EXPECT_NE(found[0].to_doubles(), found[1].to_doubles());
}

TEST_P(HalfFunctions, AreExactWhereTheirValuesAre) {
  const Variable x = vector("x", bfloat16);
  const Function f = function({x}, {astype(exp(x), float32), astype(sigmoid(x), float32), astype(erfc(x), float32)}, {.device = device()});
  const Array zeros = Array::zeros({9}, bfloat16, device());
  const Results found = f(zeros);
  EXPECT_EQ(found[0].to_doubles(), std::vector<double>(9, 1.0));
  EXPECT_EQ(found[1].to_doubles(), std::vector<double>(9, 0.5));
  EXPECT_EQ(found[2].to_doubles(), std::vector<double>(9, 1.0));
}

DAMO_ON_EACH_DEVICE(HalfFunctions);

}  // namespace
}  // namespace damo
