// Long fused kernels, which run in segments on the CPU, and kernels whose numbers are arguments: values against one kernel an
// op, dtypes and layouts of all kinds. The ops are those that are exact, or rounded alike whoever computes them: no product
// but by a power of two is added to anything: a fused kernel may round such a sum once.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include <damo/damo.hpp>
#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using Variables = std::vector<Variable>;
using Arrays = std::vector<Array>;

class LongKernels : public damo::testing::OnEachDevice {
 protected:
  Results run(const Variables& inputs, const Variables& outputs, const Arrays& arrays, bool fuse) const {
    Options options;
    options.device = device();
    options.fuse = fuse;
    options.allow_unused_inputs = true;
    return function(inputs, outputs, options).call(arrays);
  }
  void expect_as_unfused(const Variables& inputs, const Variables& outputs, const Arrays& arrays) const {
    const Results fused = run(inputs, outputs, arrays, true), alone = run(inputs, outputs, arrays, false);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<double> a = fused[i].to_doubles(), b = alone[i].to_doubles();
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t at = 0; at < a.size(); ++at) {
        ASSERT_TRUE(a[at] == b[at] || (std::isnan(a[at]) && std::isnan(b[at]))) << "output " << i << ", element " << at << ": " << a[at] << " and " << b[at];
      }
    }
  }
  Array values(const Shape& shape, DType dtype, unsigned seed) const {
    std::mt19937 random(seed);
    std::vector<double> numbers(static_cast<std::size_t>(shape.size()));
    for (double& number : numbers) number = static_cast<double>(random() % 2001) / 512.0 - 2.0;
    if (dtype == float64) return Array::from(numbers, shape, device());
    return Array::from(std::vector<float>(numbers.begin(), numbers.end()), shape, device());
  }
};

/// Tens of steps over x and y, of which some are read again much later, and others leave.
Variables long_graph(const Variable& x, const Variable& y, unsigned seed) {
  std::mt19937 random(seed);
  Variables made = {x, y};
  const auto pick = [&] { return made[made.size() - 1 - random() % std::min<std::size_t>(made.size(), 9)]; };
  for (int i = 0; i < 40; ++i) {
    const Variable a = pick(), b = random() % 4 == 0 ? made[random() % made.size()] : pick();
    switch (random() % 6) {
      case 0: made.push_back(tanh(a)); break;
      case 1: made.push_back(maximum(a, b)); break;
      case 2: made.push_back(a - b); break;
      case 3: made.push_back(a * std::ldexp(1.0, i % 5 - 2)); break;
      case 4: made.push_back(where(lt(a, b), sin(a), b)); break;
      default: made.push_back(abs(a) * 0.25);
    }
  }
  return {made.back(), made[20], made[30]};
}

TEST_P(LongKernels, GiveWhatOneKernelAnOpGives) {
  for (const DType dtype : {float32, float64}) {
    for (const std::int64_t count : {1, 63, 64, 1025, 5000}) {
      const Variable x = vector("x", dtype), y = vector("y", dtype);
      expect_as_unfused({x, y}, {tanh(sin(tanh(sin(tanh(sin(x - y)) - y)) - x)), lt(sin(sin(sin(sin(x)))), y)},
                        {values({count}, dtype, 1), values({count}, dtype, 2)});
    }
  }
}

TEST_P(LongKernels, GiveItForRowsColumnsScalarsAndStrides) {
  const Variable x = matrix("x"), row = vector("row"), one = scalar("one"), column = input({float32, {kUnknown, 1}}, "column");
  Variable z = x;
  for (int i = 0; i < 6; ++i) z = tanh(z - row) - sin(maximum(column, z) - one);
  for (const std::int64_t columns : {1, 7, 64, 130}) {
    const Arrays dense = {values({33, columns}, float32, 1), values({columns}, float32, 2), values({}, float32, 3), values({33, 1}, float32, 4)};
    expect_as_unfused({x, row, one, column}, {z}, dense);
    expect_as_unfused({x, row, one, column}, {z}, {values({columns, 33}, float32, 5).transpose(), dense[1], dense[2], dense[3]});
    expect_as_unfused({x, row, one, column}, {transpose(z)}, dense);
  }
}

TEST_P(LongKernels, GiveItForRandomGraphs) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const Variable x = vector("x"), y = vector("y");
    SCOPED_TRACE(seed);
    expect_as_unfused({x, y}, long_graph(x, y, seed), {values({1500}, float32, 1), values({1500}, float32, 2)});
  }
}

TEST_P(LongKernels, SumAThousandProducts) {
  const Variable x = vector("x");
  Variable sum = x * 0.5;
  double factor = 0.5;
  for (int i = 2; i <= 1000; ++i) sum = sum + x * (1.0 / i), factor += 1.0 / i;
  const std::vector<double> result = run({x}, {sum}, {values({3000}, float32, 1)}, true)[0].to_doubles(), from = values({3000}, float32, 1).to_doubles();
  for (std::size_t i = 0; i < from.size(); ++i) ASSERT_NEAR(result[i], factor * from[i], 1e-4 * std::fabs(factor * from[i]));
}

TEST_P(LongKernels, OfUnlikeNumbersAreCompiledOnce) {
  const damo::testing::ScratchDirectory empty;
  const damo::testing::Environment cache("DAMO_CACHE_DIR", empty.path());
  const Variable x = vector("x");
  std::vector<std::string> texts;
  for (int i = 0; i < 20; ++i) {
    Options options;
    options.device = device();
    const Function f = function({x}, {(x - (3.25 + i)) * (0.5 + i) + 0.125 * i}, options);
    const Array result = f(Array::from(std::vector<float>{4, 8}, {2}, device()));
    EXPECT_EQ(result.to_doubles()[1], (8 - (3.25 + i)) * (0.5 + i) + 0.125 * i);
    texts.push_back(f.kernels().at(0).source);
    EXPECT_EQ(texts.back(), texts.front());
  }
}

TEST_P(LongKernels, OfOneGraphThatDifferInNumbersAloneAreOneTextEachWithItsOwn) {
  const Variable x = vector("x"), y = vector("y");
  const auto groups = [](const Variable& v, double number) { return cumsum((v - number) * 0.5 + 0.25 * number); };
  Options options;
  options.device = device();
  const Function f = function({x, y}, {groups(x, 1.25), groups(y, 3.5), exp(y) * sum(x * 2.25) - sum(x * 0.75)}, options);
  const std::vector<double> a = {4, 8, 1}, b = {0.5, 2, 16};
  const auto results = f.call<3>(Array::from(std::vector<float>(a.begin(), a.end()), {3}, device()), Array::from(std::vector<float>(b.begin(), b.end()), {3}, device()));
  double first = 0, second = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(results[0].to_doubles()[i], first += (a[i] - 1.25) * 0.5 + 0.3125);
    EXPECT_EQ(results[1].to_doubles()[i], second += (b[i] - 3.5) * 0.5 + 0.875);
    EXPECT_NEAR(results[2].to_doubles()[i], std::exp(b[i]) * 13 * 2.25 - 13 * 0.75, 1e-6 * std::exp(b[i]) * 30);
  }
}

TEST_P(LongKernels, OfATreeGiveItsSum) {
  const Variable x = vector("x");
  std::vector<Variable> level;
  double factor = 0;
  for (int i = 0; i < 3000; ++i) {
    const double number = 0.5 + 0.001 * ((i * 7919) % 3001);
    level.push_back(x * number);
    factor += number;
  }
  while (level.size() > 1) {
    std::vector<Variable> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(level[i] + level[i + 1]);
    if (level.size() % 2 == 1) above.push_back(level.back());
    level = std::move(above);
  }
  const std::vector<double> result = run({x}, {level[0]}, {values({300}, float32, 1)}, true)[0].to_doubles(), from = values({300}, float32, 1).to_doubles();
  for (std::size_t i = 0; i < from.size(); ++i) ASSERT_NEAR(result[i], factor * from[i], 1e-5 * std::fabs(factor * from[i]));
}

DAMO_ON_EACH_DEVICE(LongKernels);

}  // namespace
}  // namespace damo
