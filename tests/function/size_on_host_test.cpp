// Counts of elements are numbers of the host (size_op.hpp): no kernel computes them, and values are what they are with rewrites off.
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "runtime/backend.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

class SizeOnHost : public testing::OnEachDevice {
 protected:
  Function made(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, Options options = {}) const {
    options.device = device();
    return function(inputs, outputs, options);
  }
  /// Kernels that a call launches.
  int launches(const Function& f, const std::vector<Array>& arrays) const {
    f.call(arrays);
    const std::uint64_t before = device().backend().launches;
    f.call(arrays);
    return static_cast<int>(device().backend().launches - before);
  }
  Array ramp(const Shape& shape, DType dtype = float32) const {
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(i % 7) - 2.0f);
    return astype(Array::from(values, shape, device()), dtype);
  }
  static std::vector<double> values(const Function& f, const std::vector<Array>& arrays, std::size_t result = 0) { return f.call(arrays)[result].to_doubles(); }
};

TEST_P(SizeOnHost, TheGradientOfAMeanIsOneKernel) {
  const Variable x = matrix("x"), t = matrix("t");
  const Function f = made({x, t}, {grad(mean(sqr(x - t)), x)});
  EXPECT_EQ(launches(f, {ramp({6, 7}), ramp({6, 7})}), 1);
  for (const Shape& shape : {Shape{6, 7}, Shape{2, 5}, Shape{1, 1}, Shape{6, 7}}) {
    const Array a = ramp(shape), b = Array::full(shape, 1, float32, device());
    const std::vector<double> gradient = values(f, {a, b}), from = a.to_doubles();
    for (std::size_t i = 0; i < gradient.size(); ++i) EXPECT_NEAR(gradient[i], 2 * (from[i] - 1) / static_cast<double>(shape.size()), 1e-6);
  }
}

TEST_P(SizeOnHost, CrossEntropyWaitsForNoCount) {
  const Variable x = matrix("x"), label = vector("label", int64);
  const Variable loss = mean(cross_entropy(x, label));
  const Function f = made({x, label}, {loss, grad(loss, x)});
  const std::vector<Array> arrays{ramp({5, 4}), Array::from(std::vector<std::int64_t>{0, 3, 1, 2, 0}, device())};
  EXPECT_EQ(launches(f, arrays), 3) << "labels are checked, losses and gradient, their mean";
  const std::vector<double> from = arrays[0].to_doubles(), gradient = values(f, arrays, 1);
  const int labels[] = {0, 3, 1, 2, 0};
  for (int row = 0; row < 5; ++row) {
    double sum = 0;
    for (int k = 0; k < 4; ++k) sum += std::exp(from[static_cast<std::size_t>(4 * row + k)]);
    for (int k = 0; k < 4; ++k) {
      const auto at = static_cast<std::size_t>(4 * row + k);
      EXPECT_NEAR(gradient[at], (std::exp(from[at]) / sum - (labels[row] == k)) / 5, 1e-6);
    }
  }
}

TEST_P(SizeOnHost, IsTheSameForOtherDTypes) {
  for (const DType dtype : {bfloat16, float64, int8, int64}) {
    const Variable x = matrix("x", dtype), wide = cast(x, dtype == float64 ? float64 : float32);
    const std::vector<Variable> outputs = is_floating(dtype) ? std::vector{grad(mean(sqr(x)), x), var(x, {0, 1}, false, 1), wide / size_of(x)}
                                                             : std::vector{wide / size_of(x), wide * mean(wide) + size_of(x)};
    const Function f = made({x}, outputs), plain = made({x}, outputs, {.rewrite = false});
    const Array a = ramp({5, 3}, dtype);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const std::vector<double> fast = values(f, {a}, i), slow = values(plain, {a}, i);
      ASSERT_EQ(fast.size(), slow.size());
      for (std::size_t k = 0; k < fast.size(); ++k) EXPECT_NEAR(fast[k], slow[k], 1e-2 * std::abs(slow[k]) * (is_half(dtype) ? 1.0 : 1e-4)) << name(dtype) << ", output " << i << ", element " << k;
    }
  }
}

TEST_P(SizeOnHost, OfNothingIsZero) {
  const Variable x = matrix("x");
  const Function f = made({x}, {mean(x), size_of(x), shape_of(x), 1.0 / cast(size_of(x), float32), grad(mean(x), x), var(x, {0, 1}, false, 1)});
  const Array none = Array::zeros({0, 3}, float32, device());
  EXPECT_TRUE(std::isnan(values(f, {none}, 0)[0]));
  EXPECT_EQ(values(f, {none}, 1), (std::vector<double>{0}));
  EXPECT_EQ(values(f, {none}, 2), (std::vector<double>{0, 3}));
  EXPECT_TRUE(std::isinf(values(f, {none}, 3)[0]));
  EXPECT_TRUE(values(f, {none}, 4).empty());
  EXPECT_TRUE(std::isnan(values(f, {none}, 5)[0]));
  EXPECT_EQ(values(f, {ramp({4, 3})}, 2), (std::vector<double>{4, 3})) << "and again of others";
}

TEST_P(SizeOnHost, FollowsShapesThatComeInTurn) {
  const Variable x = vector("x");
  const Function f = made({x}, {x / cast(size_of(x), float32)});
  EXPECT_EQ(launches(f, {ramp({8})}), 1);
  for (int turn = 0; turn < 12; ++turn) {
    const std::int64_t n = 1 + turn % 3;
    EXPECT_EQ(values(f, {Array::full({n}, 6, float32, device())}), std::vector<double>(static_cast<std::size_t>(n), 6.0 / static_cast<double>(n)));
  }
}

TEST_P(SizeOnHost, IsReadByWhatIsNoKernel) {
  const Variable x = vector("x");
  const Variable n = size_of(x);
  const Function f = made({x}, {arange(n), stack(std::vector{n, n + 1}), n, cumsum(second(x, cast(n, float32)), 0)});
  for (const std::int64_t size : {3, 5}) {
    const std::vector<Array> in{ramp({size})};
    EXPECT_EQ(values(f, in, 0).size(), static_cast<std::size_t>(size));
    EXPECT_EQ(values(f, in, 1), (std::vector<double>{static_cast<double>(size), static_cast<double>(size + 1)}));
    EXPECT_EQ(values(f, in, 2), (std::vector<double>{static_cast<double>(size)}));
    EXPECT_EQ(values(f, in, 3).back(), static_cast<double>(size * size));
  }
}

TEST_P(SizeOnHost, StandsInLoopsAndBranches) {
  const Variable xs = matrix("xs"), c = scalar("c", bool_);
  const Variable centred = map({xs}, [](const Variable& x) { return x - sum(x) / cast(size_of(x), float32) + grad(mean(sqr(x)), x); })[0];
  const Variable chosen = ifelse(c, xs / cast(size_of(xs), float32), grad(mean(sqr(xs)), xs));
  const Function f = made({xs, c}, {centred, chosen}), plain = made({xs, c}, {centred, chosen}, {.rewrite = false});
  for (const Shape& shape : {Shape{4, 3}, Shape{2, 5}, Shape{4, 3}}) {
    for (const bool condition : {true, false}) {
      const std::vector<Array> in{ramp(shape), Array::scalar(condition, device())};
      for (std::size_t i = 0; i < 2; ++i) {
        const std::vector<double> fast = values(f, in, i), slow = values(plain, in, i);
        ASSERT_EQ(fast.size(), slow.size());
        for (std::size_t k = 0; k < fast.size(); ++k) EXPECT_NEAR(fast[k], slow[k], 1e-6);
      }
    }
  }
}

TEST_P(SizeOnHost, OfASharedVariableThatIsUpdatedWhereItLies) {
  const Shared w = shared("w", ramp({3, 4}), Shape{kUnknown, kUnknown});
  const Variable x = w;
  const Function f = made({}, {mean(sqr(x))}, {.updates = {{w, x - 0.5 * grad(mean(sqr(x)), x)}}});
  std::vector<double> expected = w.array().to_doubles();
  for (int step = 0; step < 4; ++step) {
    f.call(std::vector<Array>{});
    for (double& value : expected) value -= value / 12;
    const std::vector<double> now = w.array().to_doubles();
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], expected[i], 1e-5);
  }
}

TEST_P(SizeOnHost, PassesTheGuardAndTheCheckOfFunctions) {
  const Variable x = matrix("x");
  const Variable loss = mean(sqr(x));
  const Function f = made({x}, {loss, grad(loss, x)}, {.nan_guard = true});
  EXPECT_NEAR(values(f, {ramp({3, 4})}, 1)[0], -2.0 * 2 / 12, 1e-6);
  EXPECT_THROW(f.call(std::vector<Array>{Array::full({3, 4}, std::nan(""), float32, device())}), Error);
}

DAMO_ON_EACH_DEVICE(SizeOnHost);

}  // namespace
}  // namespace damo
