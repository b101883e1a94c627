// Gradients of loops against differences, against what hand-written backpropagation gives, and of second order.
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using Doubles = std::vector<double>;

Doubles drawn(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> draw(-0.8, 0.8);
  Doubles values(count);
  for (double& value : values) value = draw(random);
  return values;
}

void expect_close(const Array& have, const Doubles& want, double error) {
  const Doubles values = have.to_doubles();
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], error * std::max(1.0, std::abs(want[i]))) << "element " << i;
}

class ScanGradient : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Array doubles(const Doubles& values, const Shape& shape) const { return Array::from(values, shape, device()); }

  /// The gradients of cost by all inputs, and those of a weighted sum of them, against differences; fused and as written.
  void check(const std::vector<Variable>& inputs, const Variable& cost, const std::vector<Array>& at, bool twice = true) {
    const std::vector<Variable> slopes = grad(cost, inputs);
    compare(inputs, cost, slopes, at);
    if (!twice) return;
    Variable second;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const Variable term = sum(slopes[i] * slopes[i]) * (1.0 + static_cast<double>(i));
      second = second ? second + term : term;
    }
    compare(inputs, second, grad(second, inputs, Disconnected::kZero), at);
  }

 private:
  void compare(const std::vector<Variable>& inputs, const Variable& cost, const std::vector<Variable>& slopes, std::vector<Array> at) {
    const Function value = function(inputs, std::vector{cost}, {.device = device(), .allow_unused_inputs = true});
    const Function fused = function(inputs, slopes, {.device = device(), .allow_unused_inputs = true}), plain = function(inputs, slopes, {.fuse = false, .rewrite = false, .device = device(), .allow_unused_inputs = true});
    const Results made = fused.call(at), unfused = plain.call(at);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE("input " + std::to_string(i));
      expect_close(unfused[i], made[i].to_doubles(), 1e-10);
      Doubles values = at[i].to_doubles(), want;
      const Shape shape = at[i].shape();
      for (double& element : values) {
        constexpr double kStep = 1e-5;
        const double kept = element;
        double costs[2];
        for (int side = 0; side < 2; ++side) {
          element = side == 0 ? kept - kStep : kept + kStep;
          std::vector<Array> moved = at;
          moved[i] = doubles(values, shape);
          costs[side] = Array(value.call(moved)).to_doubles()[0];
        }
        element = kept;
        want.push_back((costs[1] - costs[0]) / (2 * kStep));
      }
      EXPECT_EQ(made[i].shape(), shape);
      expect_close(made[i], want, 2e-7);
    }
  }
};

TEST_P(ScanGradient, OfARecurrenceByEverythingItReads) {
  const Variable xs = matrix("xs", float64), h0 = vector("h0", float64), w = matrix("w", float64);
  const ScanOutputs states = scan({.sequences = {xs}, .initial = {h0}}, [&](const Variable& x, const Variable& h) { return tanh(dot(h, w) + x); });
  const std::vector<Array> at{doubles(drawn(8, 1), {4, 2}), doubles(drawn(2, 2), {2}), doubles(drawn(4, 3), {2, 2})};
  check({xs, h0, w}, sum(states[0] * states[0]), at);
  check({xs, h0, w}, sum(subtensor(states[0], {-1})), at);
  check({xs, h0, w}, sum(exp(subtensor(states[0], {{-2, {}}}))), at, false);
}

TEST_P(ScanGradient, OfTapsAndSeveralOutputs) {
  const Variable xs = vector("xs", float64), begin = vector("begin", float64), c = scalar("c", float64);
  const ScanOutputs made = scan({.sequences = {{xs, {-1, 1}}}, .initial = {{begin, {-1, -3}}, {}, c}}, [&](auto before, auto next, auto one, auto three, auto s) {
    return std::vector{sin(one) * three + before * s, next * one + s, s * 0.5 + three * before};
  });
  const Variable cost = sum(made[0] * made[0]) + sum(made[1]) + subtensor(made[2], {-1}) * 2.0;
  check({xs, begin, c}, cost, {doubles(drawn(6, 4), {6}), doubles(drawn(3, 5), {3}), doubles(drawn(1, 6), {})});
  check({xs, begin, c}, subtensor(made[0], {-1}), {doubles(drawn(6, 7), {6}), doubles(drawn(3, 8), {3}), doubles(drawn(1, 9), {})});
}

TEST_P(ScanGradient, GoesBackwardsThroughBackwardLoopsAndSparesUnreadRows) {
  const Variable xs = vector("xs", float64), h0 = scalar("h0", float64);
  const ScanOutputs made = scan({.sequences = {{xs, {0, 1}}}, .initial = {h0}, .steps = 3, .go_backwards = true}, [](auto x, auto next, auto h) { return h * x + sin(next); });
  check({xs, h0}, sum(made[0] * made[0]), {doubles(drawn(7, 11), {7}), doubles(drawn(1, 12), {})});
}

TEST_P(ScanGradient, OfMapReduceAndAStepThatUsesItsInputTwice) {
  const Variable xs = matrix("xs", float64), w = vector("w", float64);
  check({xs, w}, sum(map({xs}, [&](const Variable& row) { return exp(row * w) * row; })[0]), {doubles(drawn(6, 13), {3, 2}), doubles(drawn(2, 14), {2})});
  check({xs, w}, sum(reduce({xs}, {w}, [&](const Variable& row, const Variable& p) { return p * row + tanh(p); })[0]), {doubles(drawn(6, 15), {3, 2}), doubles(drawn(2, 16), {2})});
}

TEST_P(ScanGradient, OfANumberOfStepsThatDataGives) {
  const Variable steps = scalar("steps", int64), x = scalar("x", float64), a = scalar("a", float64);
  const ScanOutputs powers = scan({.initial = {x}, .steps = steps}, [&](const Variable& v) { return v * a; });
  const Variable cost = subtensor(powers[0], {-1});
  const Function f = function({steps, x, a}, {cost, grad(cost, x), grad(cost, a), grad(grad(cost, a), a)}, on());
  const auto [value, by_x, by_a, twice] = f.call<4>(Array::from(std::vector<std::int64_t>{5}, Shape(), device()), doubles({3}, {}), doubles({2}, {}));
  expect_close(value, {96}, 1e-14);
  expect_close(by_x, {32}, 1e-14);
  expect_close(by_a, {240}, 1e-14);
  expect_close(twice, {480}, 1e-14);
}

/// Elman's network by hand.
TEST_P(ScanGradient, IsBackpropagationThroughTime) {
  constexpr std::int64_t kSteps = 6, kBatch = 2, kSize = 3;
  const Variable xs = tensor3("xs", float64), h0 = matrix("h0", float64), u = matrix("u", float64);
  for (const std::int64_t back : {-1, 2}) {
    const ScanOutputs states = scan({.sequences = {xs}, .initial = {h0}, .truncate_gradient = back}, [&](const Variable& x, const Variable& h) { return tanh(x + dot(h, u)); });
    const Variable cost = sum(subtensor(states[0], {-1}));
    const std::vector<Variable> slopes = grad(cost, {u, xs, h0});
    const Doubles x = drawn(kSteps * kBatch * kSize, 21), begin = drawn(kBatch * kSize, 22), w = drawn(kSize * kSize, 23);
    std::vector<Doubles> h{begin};
    for (std::int64_t t = 0; t < kSteps; ++t) {
      Doubles next(kBatch * kSize);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t j = 0; j < kSize; ++j) {
          double total = x[static_cast<std::size_t>((t * kBatch + b) * kSize + j)];
          for (std::int64_t k = 0; k < kSize; ++k) total += h.back()[static_cast<std::size_t>(b * kSize + k)] * w[static_cast<std::size_t>(k * kSize + j)];
          next[static_cast<std::size_t>(b * kSize + j)] = std::tanh(total);
        }
      }
      h.push_back(next);
    }
    Doubles by_u(kSize * kSize, 0), by_x(x.size(), 0), by_h(kBatch * kSize, 1);
    const std::int64_t last = back < 0 ? 0 : kSteps - back;
    for (std::int64_t t = kSteps - 1; t >= last; --t) {
      Doubles before(kBatch * kSize, 0);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t j = 0; j < kSize; ++j) {
          const auto at = static_cast<std::size_t>(b * kSize + j);
          const double value = h[static_cast<std::size_t>(t) + 1][at], d = by_h[at] * (1 - value * value);
          by_x[static_cast<std::size_t>((t * kBatch + b) * kSize + j)] = d;
          for (std::int64_t k = 0; k < kSize; ++k) {
            by_u[static_cast<std::size_t>(k * kSize + j)] += h[static_cast<std::size_t>(t)][static_cast<std::size_t>(b * kSize + k)] * d;
            before[static_cast<std::size_t>(b * kSize + k)] += d * w[static_cast<std::size_t>(k * kSize + j)];
          }
        }
      }
      by_h = before;
    }
    if (last > 0) by_h.assign(by_h.size(), 0);  // no gradient goes so far back
    const Results made = function({xs, h0, u}, {slopes[0], slopes[1], slopes[2]}, on())(doubles(x, {kSteps, kBatch, kSize}), doubles(begin, {kBatch, kSize}), doubles(w, {kSize, kSize}));
    expect_close(made[0], by_u, 1e-12);
    expect_close(made[1], by_x, 1e-12);
    expect_close(made[2], by_h, 1e-12);
  }
}

TEST_P(ScanGradient, MakesRandomNumbersAgain) {
  RandomStream random(3, device());
  const Variable x = vector("x", float64);
  const ScanOutputs made = scan({.initial = {x}, .steps = 3}, [&](const Variable& h) { return h * random.normal({2}, 0, 1, float64); });
  const Variable last = subtensor(made[0], {-1});
  const auto [value, slope] = function({x}, {last, grad(sum(last), x)}, on()).call<2>(doubles({2, 4}, {2}));
  const Doubles values = value.to_doubles();
  expect_close(slope, {values[0] / 2, values[1] / 4}, 1e-12);
}

TEST_P(ScanGradient, TrainsSharedVariables) {
  const Shared w = shared("w", doubles({0.3}, {1}));
  const Variable xs = matrix("xs", float64);
  const ScanOutputs states = scan({.sequences = {xs}, .initial = {constant(ConstantData{{float64, {1}}, std::vector<std::byte>(8)})}}, [&](const Variable& x, const Variable& h) { return w * h + x; });
  const Variable error = sum(states[0]) - 10.0, cost = error * error;
  const Function step = function({xs}, {cost}, {.device = device(), .updates = {{w, w - 0.005 * grad(cost, w)}}});
  const Array ones = doubles({1, 1, 1, 1}, {4, 1});
  for (int i = 0; i < 200; ++i) step(ones);
  EXPECT_LT(Array(step(ones)).to_doubles()[0], 1e-10);
  EXPECT_NEAR(w.array().to_doubles()[0], 1, 1e-5);  // 1 + 2 + 3 + 4
}

DAMO_ON_EACH_DEVICE(ScanGradient);

}  // namespace
}  // namespace damo
