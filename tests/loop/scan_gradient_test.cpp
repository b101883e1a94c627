// Gradients of loops against differences, against what hand-written backpropagation gives, and of second order.
#include <algorithm>
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

  /// The gradients of cost by all inputs, and if asked for those of a weighted sum of their squares, against differences.
  void check(const std::vector<Variable>& inputs, const Variable& cost, const std::vector<Array>& at, bool twice = false) {
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
    const Results made = function(inputs, slopes, {.device = device(), .allow_unused_inputs = true}).call(at);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      SCOPED_TRACE("input " + std::to_string(i));
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
  check({xs, h0, w}, sum(states[0] * states[0]), at, true);
  check({xs, h0, w}, sum(subtensor(states[0], {-1})), at);
  check({xs, h0, w}, sum(exp(subtensor(states[0], {{-2, {}}}))), at);
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

TEST_P(ScanGradient, HasTheSequencesShapeWhereStepsFindTheirSizesAndThereAreNone) {
  const Variable xs = matrix("xs", float64);
  const ScanOutputs shares = scan({.sequences = {xs}, .initial = {{}}}, [](const Variable& x) {
    const Variable positive = subtensor(x, gt(x, 0.0));
    return sum(sqr(positive)) / (cast(size_of(positive), float64) + 1.0);
  });
  const Function f = function({xs}, {shares[0], grad(sum(shares[0]), xs)}, on());
  const auto [none, slope] = f.call<2>(doubles({}, {0, 3}));
  EXPECT_EQ(none.shape(), (Shape{0}));
  EXPECT_EQ(slope.shape(), (Shape{0, 3}));
  EXPECT_EQ(f(doubles({3, -1, 0.5, -2, -3, 1}, {2, 3}))[1].to_doubles(), (Doubles{2, 0, 1.0 / 3, 0, 0, 1}));
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

/// A loop of any taps, with what it reads.
struct RandomLoop {
  ScanArguments arguments;
  std::vector<Variable> inputs;
  std::vector<Array> values;
  std::vector<double> weights;
  Variable w;
  std::size_t outputs = 0;

  RandomLoop(unsigned seed, Device device) {
    std::mt19937 random(seed);
    const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
    const auto add = [&](const Shape& shape) {
      inputs.push_back(input({float64, pick(0, 1) ? shape : Shape::filled(shape.rank(), kUnknown)}));
      values.push_back(Array::from(drawn(static_cast<std::size_t>(shape.size()), seed * 31 + static_cast<unsigned>(inputs.size())), shape, device));
      return inputs.back();
    };
    const int steps = pick(1, 5), sequences = pick(0, 2);
    const bool says_steps = sequences == 0 || pick(0, 1);
    for (int i = 0; i < sequences; ++i) {
      std::vector<int> taps;
      for (int tap = -2; tap <= 2; ++tap) {
        if (pick(0, 2) == 0) taps.push_back(tap);
      }
      if (taps.empty()) taps = {0};
      std::shuffle(taps.begin(), taps.end(), random);
      const int low = std::min(0, *std::min_element(taps.begin(), taps.end())), high = std::max(0, *std::max_element(taps.begin(), taps.end()));
      arguments.sequences.emplace_back(add({steps + high - low + (says_steps ? pick(0, 2) : 0), 2}), taps);
    }
    outputs = static_cast<std::size_t>(pick(1, 3));
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::vector<std::vector<int>> choices{{}, {-1}, {-1}, {-2, -1}, {-3}, {-1, -3}};
      const std::vector<int> taps = choices[static_cast<std::size_t>(pick(i == 0 && sequences == 0 ? 1 : 0, 5))];
      if (taps.empty()) arguments.initial.emplace_back();
      else if (taps == std::vector{-1}) arguments.initial.emplace_back(add({2}), taps);
      else arguments.initial.emplace_back(add({-*std::min_element(taps.begin(), taps.end()), 2}), taps);
    }
    if (says_steps) arguments.steps = steps;
    arguments.go_backwards = pick(0, 2) == 0;
    w = add({2});
    for (int i = 0; i < 64; ++i) weights.push_back(std::uniform_real_distribution<double>(-0.9, 0.9)(random));
    count = steps;
  }
  int count = 0;

  std::vector<Variable> step(std::span<const Variable> arguments_of_step) const {
    std::vector<Variable> made;
    for (std::size_t i = 0; i < outputs; ++i) {
      Variable total = w * 0.3;
      for (std::size_t j = 0; j < arguments_of_step.size(); ++j) {
        const double weight = weights[(i * 7 + j) % weights.size()];
        if (weight > 0.5) continue;  // it does not read all of them
        total = total + (weight > 0 ? weight * arguments_of_step[j] : sin(arguments_of_step[j]) * w * weight);
      }
      made.push_back(weights[i] > 0 ? tanh(total) : total * total - total);
    }
    return made;
  }

  /// The same without a loop.
  std::vector<std::vector<Variable>> unrolled() const {
    std::vector<std::vector<Variable>> history(outputs), made(outputs);
    for (std::size_t i = 0; i < outputs; ++i) {
      const Initial& initial = arguments.initial[i];
      if (!initial.variable) continue;
      if (initial.taps == std::vector{-1}) history[i] = {initial.variable};
      else for (int row = 0; row < -*std::min_element(initial.taps.begin(), initial.taps.end()); ++row) history[i].push_back(subtensor(initial.variable, {row}));
    }
    for (int t = 0; t < count; ++t) {
      std::vector<Variable> given;
      for (const Sequence& sequence : arguments.sequences) {
        const int low = std::min(0, *std::min_element(sequence.taps.begin(), sequence.taps.end())), high = std::max(0, *std::max_element(sequence.taps.begin(), sequence.taps.end()));
        for (int tap : sequence.taps) given.push_back(subtensor(sequence.variable, {arguments.go_backwards ? -1 - t - high + tap : t - low + tap}));
      }
      for (std::size_t i = 0; i < outputs; ++i) {
        for (int tap : arguments.initial[i].taps) given.push_back(history[i][history[i].size() - static_cast<std::size_t>(-tap)]);
      }
      const std::vector<Variable> next = step(given);
      for (std::size_t i = 0; i < outputs; ++i) {
        history[i].push_back(next[i]);
        made[i].push_back(next[i]);
      }
    }
    return made;
  }
};

TEST_P(ScanGradient, OfAnyTapsIsThatOfTheGraphWithoutALoop) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomLoop loop(seed, device());
    const ScanOutputs looped = scan(loop.arguments, [&](std::span<const Variable> given) { return loop.step(given); });
    const std::vector<std::vector<Variable>> unrolled = loop.unrolled();
    Variable cost[2];
    for (std::size_t i = 0; i < loop.outputs; ++i) {
      const bool is_last = (seed + i) % 2 == 0;
      const Variable all[] = {is_last ? subtensor(looped[i], {-1}) : looped[i], is_last ? unrolled[i].back() : stack(unrolled[i])};
      for (int side = 0; side < 2; ++side) {
        const Variable term = sum(exp(all[side] * 0.5));
        cost[side] = cost[side] ? cost[side] + term : term;
      }
    }
    std::vector<Variable> results;
    for (const Variable& side : cost) {
      results.push_back(side);
      const std::vector<Variable> slopes = grad(side, loop.inputs, Disconnected::kZero);
      Variable squares;
      for (const Variable& slope : slopes) {
        results.push_back(slope);
        squares = squares ? squares + sum(slope * slope) : sum(slope * slope);
      }
      for (const Variable& slope : grad(squares, loop.inputs, Disconnected::kZero)) results.push_back(slope);
    }
    // A kernel an op, of which there are few: fused ones would be others for each seed.
    const Function f = function(loop.inputs, results, {.fuse = false, .rewrite = seed % 2 == 0, .device = device(), .allow_unused_inputs = true});
    const Results made = f.call(loop.values);
    const std::size_t half = made.size() / 2;
    for (std::size_t i = 0; i < half; ++i) {
      SCOPED_TRACE("result " + std::to_string(i));
      EXPECT_EQ(made[i].shape(), made[half + i].shape());
      expect_close(made[i], made[half + i].to_doubles(), 1e-9);
    }
  }
}

DAMO_ON_EACH_DEVICE(ScanGradient);

}  // namespace
}  // namespace damo
