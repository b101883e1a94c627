// Layers against their formulas in float64, forward; gradients are those of the ops. What a layer adds, its state and its shapes, is here.
#include <damo/nn.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_conv.hpp>
#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/verify_grad.hpp>

#include "support/devices.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

/// A matrix of doubles, for references.
struct Matrix {
  std::int64_t rows, columns;
  std::vector<double> values;
  double& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(std::int64_t i, std::int64_t j) const { return values[static_cast<std::size_t>(i * columns + j)]; }
};
Matrix matrix_of(const Array& array) { return {array.rank() == 2 ? array.shape()[0] : 1, array.shape()[-1], array.to_doubles()}; }
Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, std::vector<double>(static_cast<std::size_t>(a.rows * b.columns))};
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) c(i, j) += a(i, k) * b(k, j);
  return c;
}
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

class NnOnEachDevice : public OnEachDevice {
 protected:
  Array wave(const Shape& shape, double step = 0.7) const {
    std::vector<double> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = std::sin(step * static_cast<double>(i)) + 0.1;
    return Array::from(values, shape, device());
  }
  Array run(const std::vector<Variable>& inputs, const Variable& output, const std::vector<Array>& values) const {
    return function(inputs, std::vector<Variable>{output}, {.device = device()}).call(values);
  }
  void expect_near(const Array& found, const std::vector<double>& expected, double tolerance = 1e-12) {
    const std::vector<double> values = found.to_doubles();
    ASSERT_EQ(values.size(), expected.size());
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], expected[i], tolerance) << i;
  }
  nn::Init init() const { return nn::Init(7, float64, device()); }
};
DAMO_ON_EACH_DEVICE(NnOnEachDevice);

TEST_P(NnOnEachDevice, InitGivesTheSameNumbersFromTheSameSeed) {
  nn::Init one(3, float32, device()), two(3, float32, device()), other(4, float32, device());
  const Array a = one.normal("a", {50, 40}, 2).array();
  EXPECT_EQ(a.to_vector<float>(), two.normal("a", {50, 40}, 2).array().to_vector<float>());
  EXPECT_NE(a.to_vector<float>(), other.normal("a", {50, 40}, 2).array().to_vector<float>());
  double sum = 0, squares = 0;
  for (const double value : a.to_doubles()) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 2000, 0, 0.15);
  EXPECT_NEAR(squares / 2000, 4, 0.4);
  const double limit = std::sqrt(6.0 / 90);
  double most = 0;
  for (const double value : one.glorot("b", {50, 40}).array().to_doubles()) most = std::max(most, std::abs(value));
  EXPECT_LE(most, limit);
  EXPECT_GT(most, 0.99 * limit);
  EXPECT_THAT(error_of<TypeError>([&] { nn::Init(1, int32, device()).full("x", {1}); }), HasSubstr("parameters are floating, not int32"));
}

TEST_P(NnOnEachDevice, LinearIsAProductAndABias) {
  nn::Init init = this->init();
  const nn::Linear layer(init, "fc", 3, 2);
  layer.bias.set(Array::from(std::vector<double>{0.5, -1}, device()));
  EXPECT_EQ(layer.parameters()[0].name(), "fc.weight");
  const Variable x = matrix("x", float64);
  Matrix expected = product(matrix_of(wave({4, 3})), matrix_of(layer.weight.array()));
  for (std::int64_t i = 0; i < 4; ++i) expected(i, 0) += 0.5, expected(i, 1) -= 1;
  expect_near(run({x}, layer(x), {wave({4, 3})}), expected.values);
}

TEST_P(NnOnEachDevice, EmbeddingIsRowsOfATable) {
  nn::Init init = this->init();
  const nn::Embedding layer(init, "words", 10, 3);
  const Variable words = matrix("words", int64);
  const Array rows = run({words}, layer(words), {Array::from(std::vector<std::int64_t>{7, 0, 7, 9}, {2, 2}, device())});
  EXPECT_EQ(rows.shape(), (Shape{2, 2, 3}));
  const Matrix table = matrix_of(layer.weight.array());
  std::vector<double> expected;
  for (const int word : {7, 0, 7, 9})
    for (int j = 0; j < 3; ++j) expected.push_back(table(word, j));
  expect_near(rows, expected, 0);
}

TEST_P(NnOnEachDevice, NormsAreTheirFormulas) {
  nn::Init init = this->init();
  const nn::LayerNorm layer(init, "ln", 5);
  const nn::RMSNorm rms(init, "rms", 5);
  layer.shift.set(wave({5}, 2)), layer.scale.set(wave({5}, 3)), rms.scale.set(wave({5}, 3));
  const Matrix x = matrix_of(wave({3, 5})), scale = matrix_of(wave({5}, 3)), shift = matrix_of(wave({5}, 2));
  Matrix by_layer = x, by_rms = x;
  for (std::int64_t i = 0; i < 3; ++i) {
    double mean = 0, var = 0, square = 0;
    for (int j = 0; j < 5; ++j) mean += x(i, j) / 5, square += x(i, j) * x(i, j) / 5;
    for (int j = 0; j < 5; ++j) var += (x(i, j) - mean) * (x(i, j) - mean) / 5;
    for (int j = 0; j < 5; ++j) {
      by_layer(i, j) = (x(i, j) - mean) / std::sqrt(var + 1e-5) * scale(0, j) + shift(0, j);
      by_rms(i, j) = x(i, j) / std::sqrt(square + 1e-5) * scale(0, j);
    }
  }
  const Variable input = matrix("x", float64);
  expect_near(run({input}, layer(input), {wave({3, 5})}), by_layer.values);
  expect_near(run({input}, rms(input), {wave({3, 5})}), by_rms.values);
}

TEST_P(NnOnEachDevice, GroupNormIsItsFormula) {
  nn::Init init = this->init();
  const nn::GroupNorm layer(init, "gn", 6, 3);
  layer.shift.set(wave({6}, 2)), layer.scale.set(wave({6}, 3));
  const std::vector<double> scale = wave({6}, 3).to_doubles(), shift = wave({6}, 2).to_doubles();
  const auto formula = [&](const Array& array, std::int64_t behind) {
    std::vector<double> x = array.to_doubles();
    const auto size = static_cast<std::size_t>(2 * behind);
    for (std::size_t begin = 0; begin < x.size(); begin += size) {
      double mean = 0, var = 0;
      for (std::size_t i = begin; i < begin + size; ++i) mean += x[i] / static_cast<double>(size);
      for (std::size_t i = begin; i < begin + size; ++i) var += (x[i] - mean) * (x[i] - mean) / static_cast<double>(size);
      for (std::size_t i = begin; i < begin + size; ++i) {
        const std::size_t feature = i / static_cast<std::size_t>(behind) % 6;
        x[i] = (x[i] - mean) / std::sqrt(var + 1e-5) * scale[feature] + shift[feature];
      }
    }
    return x;
  };
  const Variable pictures = tensor4("x", float64), rows = matrix("x", float64), known = input({float64, {2, 6, 5}}, "x");
  expect_near(run({pictures}, layer(pictures), {wave({3, 6, 4, 5})}), formula(wave({3, 6, 4, 5}), 20));
  expect_near(run({rows}, layer(rows), {wave({3, 6})}), formula(wave({3, 6}), 1));
  expect_near(run({known}, layer(known), {wave({2, 6, 5})}), formula(wave({2, 6, 5}), 5));
  EXPECT_EQ(nn::parameters(layer).size(), 2u);
  verify_grad([&](auto x) { return layer(x[0]); }, {wave({2, 6, 2})}, {.device = device()});
  EXPECT_THAT(error_of([&] { nn::GroupNorm(init, "bad", 6, 4); }), HasSubstr("nn::GroupNorm: 4 groups of 6 features"));
  EXPECT_THAT(error_of([&] { layer(input({float64, {3, 12, 2}}, "x")); }), AllOf(HasSubstr("nn::GroupNorm: "), HasSubstr("12"), HasSubstr("nn_test.cpp:")));
  EXPECT_THAT(error_of([&] { layer(vector("x", float64)); }), StartsWith("nn::GroupNorm: x has 1 axis"));
  EXPECT_THAT(error_of([&] { run({pictures}, layer(pictures), {wave({3, 12, 1, 1})}); }), HasSubstr("12"));
  EXPECT_THAT(error_of([&] { init.glorot("g", {}); }), HasSubstr("nn::Init: parameter 'g' has no axis of inputs"));
}

TEST_P(NnOnEachDevice, Conv2dIsAConvolutionAndABiasAChannel) {
  nn::Init init = this->init();
  const nn::Conv2d layer(init, "conv", 4, 6, {3, 2}, {.padding = 1, .groups = 2});
  EXPECT_EQ(layer.weight.array().shape(), (Shape{6, 2, 3, 2}));
  EXPECT_EQ(layer.weight.name(), "conv.weight");
  const double limit = std::sqrt(6.0 / (2 * 6 + 3 * 6));
  for (const double value : layer.weight.array().to_doubles()) EXPECT_LE(std::fabs(value), limit);
  layer.bias.set(wave({6}));
  const Variable x = tensor4("x", float64);
  const Array in = wave({2, 4, 5, 5});
  const Array want = add(conv2d(in, layer.weight.array(), {.padding = 1, .groups = 2}), layer.bias.array().reshape({6, 1, 1}));
  expect_near(run({x}, layer(x), {in}), want.to_doubles(), 1e-12);
  EXPECT_EQ(layer.parameters().size(), 2u);
  EXPECT_THAT(error_of([&] { nn::Conv2d(init, "bad", 3, 4, 3, {.groups = 2}); }), HasSubstr("nn::Conv2d: 3 channels and 4 filters in 2 groups"));
}

TEST_P(NnOnEachDevice, Conv1dAndConv3dAreTheirConvolutions) {
  nn::Init init = this->init();
  const nn::Conv1d line(init, "line", 2, 3, 2);
  EXPECT_EQ(line.weight.array().shape(), (Shape{3, 2, 2}));
  line.weight.set(astype(array({1, 2, 3, 4, 0, 0, 1, -1, 2, 0, 0, 2}, {3, 2, 2}), float64));
  line.bias.set(astype(array({10, 20, 30}), float64));
  const Variable x = tensor3("x", float64), v = input({float64, {kUnknown, 2, kUnknown, kUnknown, kUnknown}}, "v");
  // One sample of the channels (1, 2, 5) and (0, 3, 1).
  expect_near(run({x}, line(x), {astype(array({1, 2, 5, 0, 3, 1}, {1, 2, 3}), float64)}),
              {10 + 1 + 4 + 12, 10 + 2 + 10 + 9 + 4, 20 - 3, 20 + 3 - 1, 30 + 2 + 6, 30 + 4 + 2});
  const nn::Conv3d volume(init, "volume", 2, 4, {2, 1, 3}, {.stride = 2, .padding = {1, 0, 1}, .groups = 2});
  EXPECT_EQ(volume.weight.array().shape(), (Shape{4, 1, 2, 1, 3}));
  const double limit = std::sqrt(6.0 / (1 * 6 + 2 * 6));
  for (const double value : volume.weight.array().to_doubles()) EXPECT_LE(std::fabs(value), limit);
  volume.bias.set(wave({4}));
  const Array in = wave({2, 2, 3, 2, 4}), filters = volume.weight.array(), bias = volume.bias.array();
  const std::vector<double> of_in = in.to_doubles(), w = filters.to_doubles(), b = bias.to_doubles();
  std::vector<double> want;
  for (int n = 0; n < 2; ++n)
    for (int f = 0; f < 4; ++f)
      for (int d = 0; d < 2; ++d)
        for (int k = 0; k < 2; ++k) {  // the one of two rows that a stride of 2 leaves
          double sum = b[static_cast<std::size_t>(f)];
          for (int i = 0; i < 2; ++i)
            for (int j = 0; j < 3; ++j) {
              const int depth = 2 * d + i - 1, column = 2 * k + j - 1;
              if (depth < 0 || depth >= 3 || column < 0 || column >= 4) continue;
              const int place = ((n * 2 + f / 2) * 3 + depth) * 8 + column;
              sum += w[static_cast<std::size_t>(f * 6 + i * 3 + j)] * of_in[static_cast<std::size_t>(place)];
            }
          want.push_back(sum);
        }
  expect_near(run({v}, volume(v), {in}), want);
  EXPECT_EQ(nn::parameters(line, volume).size(), 4u);
  verify_grad([&](auto in) { return line(in[0]); }, {wave({1, 2, 4})}, {.device = device()});
  EXPECT_THAT(error_of([&] { nn::Conv1d(init, "bad", 3, 4, {2, 2}); }),
              AllOf(HasSubstr("nn::Conv1d: 3 channels and 4 filters in 1 groups, windows of 2 axes"), HasSubstr("give one extent, and")));
  EXPECT_THAT(error_of([&] { nn::Conv3d(init, "bad", 3, 4, {2, 2}); }),
              AllOf(HasSubstr("nn::Conv3d: 3 channels and 4 filters in 1 groups, windows of 2 axes"), HasSubstr("give one extent or 3, and")));
  EXPECT_THAT(error_of([&] { line(tensor4("p", float64)); }), AllOf(StartsWith("nn::Conv1d: operands have 3 axes, x has 4"), HasSubstr("flatten or reshape takes one away"), HasSubstr("nn_test.cpp:")));
}

TEST_P(NnOnEachDevice, BatchNormLearnsWhatItUsesLater) {
  nn::Init init = this->init();
  const nn::BatchNorm layer(init, "bn", 2, 1, 0.75);
  const Variable x = tensor3("x", float64);
  optim::Updates updates;
  const Variable trained = layer.train(x, updates);
  const Function train = function({x}, {trained}, {.device = device(), .updates = updates});
  const Array values = wave({3, 2, 4});
  const std::vector<double> in = values.to_doubles(), out = Array(train(values)).to_doubles();
  for (int c = 0; c < 2; ++c) {
    double mean = 0, var = 0;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) mean += in[static_cast<std::size_t>(i * 8 + c * 4 + j)] / 12;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 4; ++j) var += std::pow(in[static_cast<std::size_t>(i * 8 + c * 4 + j)] - mean, 2) / 12;
    EXPECT_NEAR(out[static_cast<std::size_t>(c * 4)], (in[static_cast<std::size_t>(c * 4)] - mean) / std::sqrt(var + 1e-5), 1e-12);
    EXPECT_NEAR(layer.running_mean.array().to_doubles()[static_cast<std::size_t>(c)], 0.25 * mean, 1e-12);
    EXPECT_NEAR(layer.running_var.array().to_doubles()[static_cast<std::size_t>(c)], 0.75 + 0.25 * var, 1e-12);
  }
  for (int i = 0; i < 100; ++i) train(values);
  expect_near(run({x}, layer(x), {values}), out, 1e-9);
  EXPECT_EQ(layer.running().size(), 2u);
  nn::Init narrow(3, float32, device());
  const nn::BatchNorm of_floats(narrow, "bn", 2, 1, 0.75);
  optim::Updates of_doubles;
  const Variable wide = of_floats.train(x, of_doubles);
  function({x}, {wide}, {.device = device(), .updates = of_doubles})(values);
  EXPECT_EQ(of_floats.running_mean.array().dtype(), float32) << "x has another dtype";
}

TEST_P(NnOnEachDevice, BatchNormRefusesABatchWithoutRowsAndKeepsWhatItLearned) {
  nn::Init init = this->init();
  const nn::BatchNorm layer(init, "bn", 2);
  const Variable x = matrix("x", float64), mask = vector("mask", bool_);
  const auto text = AllOf(StartsWith("nn::BatchNorm: there are no rows: the extent of axis 0 of x is 0"), HasSubstr("leave an empty minibatch out"), HasSubstr("nn_test.cpp:"));
  optim::Updates updates, chosen;
  const Variable trained = layer.train(x, updates), of_chosen = layer.train(subtensor(x, {mask}), chosen);
  const Function train = function({x}, {trained}, {.device = device(), .updates = updates});
  const Function choose = function({x, mask}, {of_chosen}, {.device = device(), .updates = chosen});
  const Array values = wave({3, 2});
  train(values);
  const std::vector<double> mean = layer.running_mean.array().to_doubles(), var = layer.running_var.array().to_doubles();
  EXPECT_THAT(error_of<ShapeError>([&] { train(Array::zeros({0, 2}, float64, device())); }), text);
  EXPECT_THAT(error_of<ShapeError>([&] { choose(values, Array::zeros({3}, bool_, device())); }), text) << "the rows show while the call runs";
  EXPECT_EQ(layer.running_mean.array().to_doubles(), mean);
  EXPECT_EQ(layer.running_var.array().to_doubles(), var);
  train(values);
  EXPECT_NE(layer.running_mean.array().to_doubles(), mean) << "it goes on learning";
  optim::Updates none;
  EXPECT_THAT(error_of<ShapeError>([&] { layer.train(input({float64, {0, 2}}, "none"), none); }), AllOf(text, HasSubstr("nn::BatchNorm built at "), HasSubstr("none float64 (0, 2)")));
  EXPECT_TRUE(none.empty());
}

TEST_P(NnOnEachDevice, LstmIsItsFormula) {
  nn::Init init = this->init();
  const nn::LSTMCell layer(init, "lstm", 3, 2);
  EXPECT_THAT(layer.bias.array().to_doubles(), ElementsAre(0, 0, 1, 1, 0, 0, 0, 0));
  const Variable x = matrix("x", float64), h = matrix("h", float64), c = matrix("c", float64);
  const auto next = layer(x, {h, c});
  const Array xs = wave({4, 3}), hs = wave({4, 2}, 1.3), cs = wave({4, 2}, 2.1);
  const Matrix a = product(matrix_of(xs), matrix_of(layer.input_weight.array())), b = product(matrix_of(hs), matrix_of(layer.hidden_weight.array())), old = matrix_of(cs);
  std::vector<double> hidden, cell;
  for (std::int64_t n = 0; n < 4; ++n)
    for (int j = 0; j < 2; ++j) {
      const auto gate = [&](int k) { return a(n, 2 * k + j) + b(n, 2 * k + j) + (k == 1 ? 1 : 0); };
      cell.push_back(logistic(gate(1)) * old(n, j) + logistic(gate(0)) * std::tanh(gate(2)));
      hidden.push_back(logistic(gate(3)) * std::tanh(cell.back()));
    }
  expect_near(run({x, h, c}, next.hidden, {xs, hs, cs}), hidden);
  expect_near(run({x, h, c}, next.cell, {xs, hs, cs}), cell);
}

TEST_P(NnOnEachDevice, RecurrentLayersAreTheirCellsStepByStep) {
  nn::Init init = this->init();
  const nn::LSTM lstm(init, "lstm", 3, 2);
  const nn::GRU gru(init, "gru", 3, 2);
  const Variable xs = tensor3("xs", float64);
  const nn::LSTM::Result made = lstm(xs);
  const Variable hidden = gru(xs);
  const Array steps = wave({3, 4, 3});
  nn::LSTMCell::State state{second(subtensor(xs, {0, {}, {0, 2}}), 0.0), second(subtensor(xs, {0, {}, {0, 2}}), 0.0)};
  Variable h = state.hidden;
  std::vector<Variable> states, values;
  for (int t = 0; t < 3; ++t) {
    state = lstm.cell(subtensor(xs, {t}), state);
    h = gru.cell(subtensor(xs, {t}), h);
    states.push_back(state.hidden);
    values.push_back(h);
  }
  expect_near(run({xs}, made.hidden, {steps}), run({xs}, stack(states), {steps}).to_doubles());
  expect_near(run({xs}, made.last.cell, {steps}), run({xs}, state.cell, {steps}).to_doubles());
  expect_near(run({xs}, hidden, {steps}), run({xs}, stack(values), {steps}).to_doubles());
  const Variable looped = grad(sum(made.hidden * made.hidden), lstm.cell.hidden_weight), unrolled = grad(sum(stack(states) * stack(states)), lstm.cell.hidden_weight);
  expect_near(run({xs}, looped, {steps}), run({xs}, unrolled, {steps}).to_doubles());
  EXPECT_EQ(nn::parameters(lstm, gru).size(), 7u);
}

TEST_P(NnOnEachDevice, GruIsItsFormula) {
  nn::Init init = this->init();
  const nn::GRUCell layer(init, "gru", 3, 2);
  layer.hidden_bias.set(wave({6}));
  const Variable x = matrix("x", float64), h = matrix("h", float64);
  const Array xs = wave({4, 3}), hs = wave({4, 2}, 1.3);
  const Matrix a = product(matrix_of(xs), matrix_of(layer.input_weight.array())), b = product(matrix_of(hs), matrix_of(layer.hidden_weight.array())), old = matrix_of(hs),
               bias = matrix_of(wave({6}));
  std::vector<double> expected;
  for (std::int64_t n = 0; n < 4; ++n)
    for (int j = 0; j < 2; ++j) {
      const auto back = [&](int k) { return b(n, 2 * k + j) + bias(0, 2 * k + j); };
      const double reset = logistic(a(n, j) + back(0)), keep = logistic(a(n, 2 + j) + back(1)), next = std::tanh(a(n, 4 + j) + reset * back(2));
      expected.push_back((1 - keep) * next + keep * old(n, j));
    }
  expect_near(run({x, h}, layer(x, h), {xs, hs}), expected);
}

TEST_P(NnOnEachDevice, AttentionIsItsFormulaWithMasksAndGroups) {
  constexpr std::int64_t kBatch = 2, kHeads = 4, kGroups = 2, kQueries = 3, kKeys = 3, kFeatures = 5, kDepth = 2;
  const Variable q = input({float64, {kUnknown, kHeads, kUnknown, kFeatures}}, "q"), k = input({float64, {kUnknown, kGroups, kUnknown, kFeatures}}, "k"),
                 v = input({float64, {kUnknown, kGroups, kUnknown, kDepth}}, "v"), mask = input({bool_, {kUnknown, kUnknown}}, "mask");
  const Array qs = wave({kBatch, kHeads, kQueries, kFeatures}), ks = wave({kBatch, kGroups, kKeys, kFeatures}, 1.1), vs = wave({kBatch, kGroups, kKeys, kDepth}, 0.3);
  const bool seen_values[] = {true, true, false, false, true, true, false, false, false};  // the last query may look at nothing
  const Array seen = Array::from(std::span<const bool>(seen_values), {kQueries, kKeys}, device());
  const std::vector<double> qv = qs.to_doubles(), kv = ks.to_doubles(), vv = vs.to_doubles();
  for (const bool restricted : {false, true}) {
    std::vector<double> expected;
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t i = 0; i < kQueries; ++i) {
          const std::int64_t group = b * kGroups + h / (kHeads / kGroups);
          double total = 0, out[kDepth] = {};
          for (std::int64_t j = 0; j < kKeys; ++j) {
            if (restricted && (j > i || !seen_values[i * kKeys + j])) continue;
            double score = 0;
            for (std::int64_t f = 0; f < kFeatures; ++f) score += qv[static_cast<std::size_t>(((b * kHeads + h) * kQueries + i) * kFeatures + f)] * kv[static_cast<std::size_t>((group * kKeys + j) * kFeatures + f)];
            const double weight = std::exp(score / std::sqrt(5.0));
            total += weight;
            for (std::int64_t d = 0; d < kDepth; ++d) out[d] += weight * vv[static_cast<std::size_t>((group * kKeys + j) * kDepth + d)];
          }
          for (const double value : out) expected.push_back(total > 0 ? value / total : 0);
        }
    nn::AttentionOptions options{.causal = restricted};
    if (restricted) options.mask = mask;
    const Variable z = nn::attention(q, k, v, options);
    const std::vector<Variable> inputs = restricted ? std::vector<Variable>{q, k, v, mask} : std::vector<Variable>{q, k, v};
    const std::vector<Array> values = restricted ? std::vector<Array>{qs, ks, vs, seen} : std::vector<Array>{qs, ks, vs};
    const Results found = function(inputs, std::vector<Variable>{z, grad(sum(z), q)}, {.device = device()}).call(values);
    expect_near(found[0], expected);
    for (const double value : found[1].to_doubles()) EXPECT_TRUE(std::isfinite(value));
    nn::ArrayAttentionOptions at_once{.causal = restricted};
    if (restricted) at_once.mask = seen;
    expect_near(nn::attention(qs, ks, vs, at_once), expected);
    const Array turned = swap_axes(swap_axes(qs, 1, 2).copy(), 1, 2);  // rows before heads, as layers have them
    expect_near(nn::attention(turned, ks, vs, at_once), expected);
  }
}

TEST(Nn, LayersSayWhatExtentsTheyTake) {
  nn::Init init(1, float32, Device("null"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::Conv2d(init, "c", 3, 4, {}); }), HasSubstr("nn::Conv2d: 3 channels and 4 filters in 1 groups, windows of 0 axes"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::Linear(init, "l", -1, 3); }), HasSubstr("nn::Init: an extent of parameter 'l.weight' is -1"));
  const nn::Linear layer(init, "l", 2, 3);
  EXPECT_THAT(error_of<ShapeError>([&] { layer(input({float32, {2, 5}}, "x")); }), AllOf(StartsWith("nn::Linear: (2, 5) and (2, 3) do not fit"), HasSubstr("x float32 (2, 5)"), HasSubstr("nn::Linear built at"), HasSubstr("nn_test.cpp:")));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::LayerNorm(init, "n", 4)(input({float32, {2, 5}}, "x")); }), AllOf(StartsWith("nn::LayerNorm: cannot broadcast (2, 5) with (4,)"), HasSubstr("\n  x float32 (2, 5)\n")));
  EXPECT_THAT(error_of<TypeError>([&] { nn::Embedding(init, "e", 10, 4)(matrix("x")); }), AllOf(StartsWith("nn::Embedding: positions are integers"), HasSubstr("cast(positions, int64)")));
  EXPECT_THAT(error_of([&] { function({}, {}, {.device = Device("null"), .updates = {{layer.weight, layer.weight + 1.0}, {layer.weight, layer.weight}}}); }), ::testing::Not(HasSubstr("nn.cpp"))) << "a line of Damo's";
}

TEST_P(NnOnEachDevice, AttentionOfArraysKeepsTheirDtypeAndSaysWhatDoesNotFit) {
  const Array q = wave({2, 3, 4}), k = wave({1, 5, 4}, 1.1);
  // Each score is 0, so each key has a weight of 1 / 5, or 1 / (i + 1) of those that query i may look at.
  const Array means = mean(k, 1), all = nn::attention(q, k, k, {.scale = 0.0}), first = nn::attention(q, k, k, {.causal = true, .scale = 0.0});
  for (int i = 0; i < 24; ++i) EXPECT_NEAR(all.to_doubles()[static_cast<std::size_t>(i)], means.to_doubles()[static_cast<std::size_t>(i % 4)], 1e-12);
  for (int f = 0; f < 4; ++f) {
    const std::vector<double> keys = k.to_doubles(), found = first.to_doubles();
    const auto at = static_cast<std::size_t>(f);
    EXPECT_NEAR(found[at], keys[at], 1e-12);
    EXPECT_NEAR(found[at + 16], (keys[at] + keys[at + 4]) / 2, 1e-12);
  }
  for (const DType dtype : {float16, bfloat16, float32}) {
    const Array narrow = nn::attention(astype(q, dtype), astype(k, dtype), astype(k, dtype));
    EXPECT_EQ(narrow.dtype(), dtype);
    const std::vector<double> found = narrow.to_doubles(), expected = nn::attention(q, k, k).to_doubles();
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], dtype == bfloat16 ? 3e-2 : dtype == float16 ? 4e-3 : 1e-6);
  }
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(wave({3, 2, 4}), wave({2, 2, 4}), wave({2, 2, 4})); }),
              HasSubstr("heads of the query are a multiple of those of key and value, not 3 of 2 and 2"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(wave({2, 4}), k, k); }), HasSubstr("attention: query, key and value have the axes"));
  EXPECT_THAT(error_of([&] { nn::attention(q, Array(), k); }), HasSubstr("attention: an operand is an empty Array"));
  EXPECT_THAT(error_of([&] { nn::attention(q, wave({1, 5, 3}), k); }), HasSubstr("attention: "));
}

TEST(Nn, AttentionSaysWhatDoesNotFit) {
  const auto tensor = [](std::int64_t heads) { return input({float32, {kUnknown, heads, kUnknown, 8}}); };
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(tensor(3), tensor(2), tensor(2)); }), HasSubstr("heads of the query are a multiple of those of key and value"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(tensor(4), tensor(2), tensor(4)); }), HasSubstr("heads of the query are a multiple"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(tensor(4), tensor(2), tensor(kUnknown)); }), HasSubstr("not 4 of 2 and ?"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(tensor(4), tensor(kUnknown), tensor(2)); }),
              HasSubstr("attention: heads of the query and of the key, and features unless the scale is told, are known when the graph is built"));
  EXPECT_THAT(error_of<ShapeError>([&] { nn::attention(matrix("x"), matrix("y"), matrix("z")); }), HasSubstr("have the axes (batch..., heads, n, features)"));
}

}  // namespace
