// What leaves a loop because it can be computed for all steps at once: the graphs that result, and their values against those of loops that keep it.
#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "ops/contraction_op.hpp"
#include "ops/inner_graph_op.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;

/// How many products each loop of the function computes at a step, in the order of the graph.
std::vector<int> products_in_steps(const Function& f) {
  std::vector<int> counts;
  const FunctionGraph& graph = f.graph();
  for (NodeId node : graph.toposort()) {
    const auto* loop = dynamic_cast<const InnerGraphOp*>(&graph.op(node));
    if (!loop) continue;
    counts.push_back(0);
    const FunctionGraph& step = *loop->inner_graphs().front();
    for (NodeId inner : step.nodes()) counts.back() += dynamic_cast<const ContractionOp*>(&step.op(inner)) != nullptr;
  }
  return counts;
}

class PushOutOfLoops : public testing::OnEachDevice {
 protected:
  Options on() const { return {.device = device()}; }
  Options off() const { return {.disable = {"push_out_of_loops"}, .device = device()}; }
  Array drawn(const Shape& shape, unsigned seed, DType dtype = float64) const {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> draw(-0.8, 0.8);
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (double& value : values) value = draw(random);
    return astype(Array::from(values, shape, device()), dtype);
  }

  /// Both functions on the same arguments.
  void expect_same(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const std::vector<Array>& at, double error = 1e-13) {
    const Results have = function(inputs, outputs, on()).call(at), want = function(inputs, outputs, off()).call(at);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      SCOPED_TRACE("output " + std::to_string(i));
      ASSERT_EQ(have[i].shape(), want[i].shape());
      EXPECT_EQ(have[i].dtype(), want[i].dtype());
      const std::vector<double> values = Array(have[i]).to_doubles(), expected = Array(want[i]).to_doubles();
      for (std::size_t k = 0; k < values.size(); ++k) EXPECT_NEAR(values[k], expected[k], error * std::max(1.0, std::abs(expected[k]))) << "element " << k;
    }
  }
};

TEST_P(PushOutOfLoops, LeavesARecurrenceOneProductAStepForwardsAndOneBackwards) {
  const Variable xs = tensor3("xs", float64), w = input({float64, {6, 8}}, "w"), u = input({float64, {8, 8}}, "u"), v = input({float64, {8, 3}}, "v"), b = vector("b", float64);
  const ScanOutputs states = scan({.sequences = {xs}, .initial = {second(subtensor(dot(xs, w), {0}), 0.0), {}}}, [&](const Variable& x, const Variable& h) {
    const Variable next = tanh(dot(x, w) + dot(h, u) + b);
    return std::pair(next, dot(next, v));
  });
  const std::vector<Variable> by{xs, w, u, v, b}, slopes = grad(sum(states[1] * states[1]), by);
  std::vector<Variable> outputs{states[1]};
  outputs.insert(outputs.end(), slopes.begin(), slopes.end());
  EXPECT_THAT(products_in_steps(function(by, outputs, on())), ElementsAre(1, 1));
  // Forwards x w, h u, y v; backwards two of each of the three: the state, by which the gradient of tanh is known, is read.
  EXPECT_THAT(products_in_steps(function(by, outputs, off())), ElementsAre(3, 6));
  for (const std::int64_t steps : {5, 1}) {
    expect_same(by, outputs, {drawn({steps, 4, 6}, 1), drawn({6, 8}, 2), drawn({8, 8}, 3), drawn({8, 3}, 4), drawn({8}, 5)});
  }
}

TEST_P(PushOutOfLoops, GivesZerosAsTheGradientOfNoSteps) {
  const Variable xs = matrix("xs", float64), w = matrix("w", float64), h0 = vector("h0", float64);
  const Variable states = scan({.sequences = {xs}, .initial = {h0}}, [&](const Variable& x, const Variable& h) { return tanh(dot(x, w) + h); });
  const Results made = function({xs, w, h0}, {states, grad(sum(states), w)}, on()).call(std::vector{Array::zeros({0, 3}, float64, device()), drawn({3, 4}, 1), drawn({4}, 2)});
  EXPECT_EQ(made[0].shape(), (Shape{0, 4}));
  EXPECT_EQ(Array(made[1]).to_doubles(), std::vector<double>(12, 0.0));
}

TEST_P(PushOutOfLoops, TakesTheRowsThatTheStepsTake) {
  const Variable xs = matrix("xs", float64), w = matrix("w", float64), h0 = vector("h0", float64);
  const auto step = [&](const Variable& before, const Variable& after, const Variable& h) { return tanh(dot(before, w) - 0.5 * dot(after * after, w) + h); };
  for (const bool backwards : {false, true}) {
    for (const bool counts : {false, true}) {
      SCOPED_TRACE(std::string(backwards ? "backwards" : "upwards") + (counts ? ", steps given" : ""));
      ScanArguments arguments{.sequences = {Sequence(xs, {-1, 1})}, .initial = {h0}, .go_backwards = backwards};
      if (counts) arguments.steps = 3;
      const Variable states = scan(arguments, step), cost = sum(states * states);
      EXPECT_THAT(products_in_steps(function({xs, w, h0}, {states}, on())), ElementsAre(0));
      expect_same({xs, w, h0}, {states, grad(cost, w), grad(cost, xs)}, {drawn({7, 3}, 1), drawn({3, 4}, 2), drawn({4}, 3)});
    }
  }
}

// Of a number of steps that is less than a sequence's rows; those that no step reads have zeros as their gradient.
TEST_P(PushOutOfLoops, LeavesRowsThatNoStepReads) {
  const Variable w = matrix("w", float64), h0 = vector("h0", float64);
  for (const Variable& xs : {matrix("xs", float64), input({float64, {5, 3}}, "xs")}) {
    for (const int steps : {1, 2, 5}) {
      for (const bool backwards : {false, true}) {
        SCOPED_TRACE(std::to_string(steps) + (backwards ? " steps backwards" : " steps"));
        const Variable states = scan({.sequences = {xs}, .initial = {h0}, .steps = steps, .go_backwards = backwards}, [&](const Variable& x, const Variable& h) { return tanh(dot(x, w) + h); });
        const Variable slope = grad(sum(states * states), xs);
        const std::vector<Array> values{drawn({5, 3}, 1), drawn({3, 4}, 2), drawn({4}, 3)};
        expect_same({xs, w, h0}, {states, slope, grad(sum(states) + sum(xs), xs)}, values);
        const Array found = function({xs, w, h0}, {slope}, on()).call(values);
        ASSERT_EQ(found.shape(), (Shape{5, 3}));
        for (std::int64_t row = 0; row < 5; ++row) {
          const bool is_read = backwards ? row >= 5 - steps : row < steps;
          for (std::int64_t k = 0; k < 3; ++k) EXPECT_EQ(found.to_doubles()[static_cast<std::size_t>(row * 3 + k)] != 0, is_read) << row;
        }
      }
    }
  }
}

TEST_P(PushOutOfLoops, MultipliesWhateverVariesFromStepToStep) {
  const Variable xs = tensor3("xs", float64), ys = tensor3("ys", float64), fixed = matrix("fixed", float64), h0 = matrix("h0", float64);
  const Variable states = scan({.sequences = {xs, ys}, .initial = {h0}}, [&](const Variable& x, const Variable& y, const Variable& h) {
    return 0.5 * h + dot(x, y) + dot(fixed, transpose(x)) + sum(matmul(x, subtensor(y, {{}, {0, 2}}) + subtensor(y, {{}, {1, 3}}) * subtensor(fixed, {0, 0})));
  });
  const std::vector<Variable> by{xs, ys, fixed, h0}, slopes = grad(sum(states * states), by);
  std::vector<Variable> outputs{states};
  outputs.insert(outputs.end(), slopes.begin(), slopes.end());
  expect_same(by, outputs, {drawn({4, 3, 3}, 1), drawn({4, 3, 3}, 2), drawn({3, 3}, 3), drawn({3, 3}, 4)});
}

TEST_P(PushOutOfLoops, AddsUpProductsOf16BitFloatsInFloat32) {
  const Variable xs = tensor3("xs", bfloat16), w = matrix("w", bfloat16), h0 = matrix("h0", bfloat16);
  const Variable states = scan({.sequences = {xs}, .initial = {h0}}, [&](const Variable& x, const Variable& h) { return tanh(dot(x, w) + h); });
  const Variable slope = grad(sum(states), w);
  EXPECT_EQ(slope.dtype(), bfloat16);
  expect_same({xs, w, h0}, {slope}, {drawn({6, 2, 3}, 1, bfloat16), drawn({3, 4}, 2, bfloat16), drawn({2, 4}, 3, bfloat16)}, 0.02);
}

TEST_P(PushOutOfLoops, KeepsInTheLoopWhatWouldTakeMuchMoreMemoryThanItsRows) {
  const Variable xs = input({float64, {5, 2}}, "xs"), narrow = input({float64, {2, 32}}, "narrow"), wide = input({float64, {2, 34}}, "wide"), s0 = scalar("s0", float64);
  const auto summed = [&](const Variable& w) { return reduce({xs}, {s0}, [&](const Variable& x, const Variable& s) { return tanh(s) + sum(exp(dot(x, w))); }); };
  EXPECT_THAT(products_in_steps(function({xs, narrow, s0}, {summed(narrow)}, on())), ElementsAre(0));
  EXPECT_THAT(products_in_steps(function({xs, wide, s0}, {summed(wide)}, on())), ElementsAre(1));
}

TEST_P(PushOutOfLoops, KeepsInTheLoopWhatDependsOnHowFarItGoes) {
  const Variable xs = matrix("xs", float64), w = matrix("w", float64), h0 = vector("h0", float64);
  const ScanOutputs ends = scan({.sequences = {xs}, .initial = {h0}}, [&](const Variable& x, const Variable& h) {
    const Variable next = tanh(dot(x, w) + h);
    return ScanStep({next}, gt(sum(next), 100.0));
  });
  EXPECT_THAT(products_in_steps(function({xs, w, h0}, {ends[0]}, on())), ElementsAre(1));
}

DAMO_ON_EACH_DEVICE(PushOutOfLoops);

}  // namespace
}  // namespace damo
