// Softmax, its logarithm, and the cross-entropy with integer labels, against float64 on the host; gradients against differences.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Values = std::vector<double>;

/// Kernels that read rows: views take none, and what looks at the labels is small.
int kernels_of(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs) {
  const Function f = function(inputs, outputs, {.device = Device("null")});
  int count = 0;
  for (NodeId node : f.graph().nodes()) count += f.graph().op(node).inner_graph() != nullptr;
  return count;
}

class Softmax : public testing::OnEachDevice {
 protected:
  static Values noise(std::size_t size, unsigned seed = 1) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-4, 4);
    Values values(size);
    for (double& value : values) value = uniform(random);
    return values;
  }
  Array logits(const Shape& shape, DType dtype) const { return astype(Array::from(noise(static_cast<std::size_t>(shape.size())), shape, device()), dtype); }
  static std::vector<std::int64_t> some_labels(std::int64_t rows, std::int64_t classes) {
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < rows; ++i) labels.push_back((i * 7919 + 3) % classes);
    return labels;
  }
};

/// Of a matrix's rows, in float64.
struct Reference {
  Values softmax, log_softmax, loss;
  Reference(const Values& x, std::size_t classes, const std::vector<std::int64_t>& labels) : softmax(x.size()), log_softmax(x.size()), loss(x.size() / classes) {
    for (std::size_t row = 0; row < loss.size(); ++row) {
      double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::size_t k = 0; k < classes; ++k) greatest = std::max(greatest, x[row * classes + k]);
      for (std::size_t k = 0; k < classes; ++k) sum += std::exp(x[row * classes + k] - greatest);
      for (std::size_t k = 0; k < classes; ++k) {
        log_softmax[row * classes + k] = x[row * classes + k] - greatest - std::log(sum);
        softmax[row * classes + k] = std::exp(log_softmax[row * classes + k]);
      }
      loss[row] = -log_softmax[row * classes + static_cast<std::size_t>(labels[row])];
    }
  }
};

void expect_near(const Values& found, const Values& expected, double tolerance, const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance * std::max(1.0, std::abs(expected[i]))) << what << " element " << i;
}

TEST(CrossEntropy, IsOneKernelAndSoAreItsGradientAndBothTogether) {
  const Variable x = matrix("x"), labels = vector("labels", int32), g = vector("g");
  const Variable loss = cross_entropy(x, labels), by_x = lop(loss, g, x);
  EXPECT_EQ(kernels_of({x}, {softmax(x)}), 1);
  EXPECT_EQ(kernels_of({x}, {log_softmax(x, 0)}), 1);
  EXPECT_EQ(kernels_of({x, labels}, {loss}), 1);
  EXPECT_EQ(kernels_of({x, labels, g}, {by_x}), 1);
  EXPECT_EQ(kernels_of({x, labels, g}, {loss, by_x}), 1);
  EXPECT_EQ(kernels_of({x, labels}, {cross_entropy(tanh(x) * 2.0, labels)}), 1);
  EXPECT_EQ(kernels_of({x, g}, {lop(logsumexp(x, 1), g, x)}), 1);
}

TEST(CrossEntropy, RefusesLabelsThatAreNone) {
  const Variable x = matrix("x");
  EXPECT_THAT(error_of<TypeError>([&] { cross_entropy(x, vector("p")); }),
              AllOf(HasSubstr("cross_entropy: labels are integers, or probabilities with the axes of the logits, not p float32 (?,)\n"), HasSubstr("x float32 (?, ?)"), HasSubstr("softmax_test.cpp:")));
  EXPECT_THAT(error_of<TypeError>([&] { cross_entropy(x, vector("p", bool_)); }), HasSubstr("with the axes of the logits, not p bool (?,)"));
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(x, matrix("labels", int32)); }), HasSubstr("logits have 2 axes, so labels have 1, not 2"));
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(x, vector("labels", int32), 2); }), HasSubstr("cross_entropy: axis 2 does not exist"));
  EXPECT_THAT(error_of<ShapeError>([&] { softmax(scalar("s")); }), HasSubstr("softmax: x has no axis"));
}

TEST(CrossEntropy, OfProbabilitiesIsOneKernelToo) {
  const Variable x = matrix("x"), p = matrix("p"), g = vector("g");
  const Variable loss = cross_entropy(x, p);
  EXPECT_EQ(kernels_of({x, p}, {loss}), 1);
  EXPECT_EQ(kernels_of({x, p, g}, {loss, lop(loss, g, x)}), 1);
  EXPECT_EQ(kernels_of({x, p}, {sigmoid_cross_entropy(x, p), grad(sum(sigmoid_cross_entropy(x, p)), x)}), 1);
}

TEST_P(Softmax, CrossEntropyTakesProbabilities) {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const DType dtype : {float64, float32, float16, bfloat16}) {
    const double tolerance = dtype == float64 ? 1e-13 : dtype == float32 ? 2e-6 : dtype == float16 ? 2e-3 : 1.6e-2;
    const Array x = astype(Array::from({1.0, 2.0, 0.5, -1.0, 800.0, 0.0, 0.25, -infinity, 1.5}, {3, 3}, device()), dtype);
    const Array p = Array::from({0.25f, 0.5f, 0.25f, 0.0f, 1.0f, 0.0f, 0.5f, 0.0f, 0.5f}, {3, 3}, device());
    const auto entropy = [](std::vector<double> row, std::vector<double> weights) {
      double all = 0, result = 0;
      const double most = *std::max_element(row.begin(), row.end());
      for (const double value : row) all += std::exp(value - most);
      for (std::size_t i = 0; i < row.size(); ++i) result += weights[i] == 0 ? 0 : weights[i] * (most + std::log(all) - row[i]);
      return result;
    };
    const std::vector<double> want{entropy({1, 2, 0.5}, {0.25, 0.5, 0.25}), 0, entropy({0.25, -infinity, 1.5}, {0.5, 0, 0.5})};
    const Variable logits = matrix("x", dtype), weights = matrix("p");
    expect_near(function({logits, weights}, {cross_entropy(logits, weights)}, options())(x, p)[0].to_doubles(), want, tolerance, std::string(name(dtype)));
    expect_near(function({logits, weights}, {cross_entropy(transpose(logits), transpose(weights), 0)}, options())(x, p)[0].to_doubles(), want, tolerance, std::string(name(dtype)));
    expect_near(cross_entropy(x, p).to_doubles(), want, tolerance, std::string(name(dtype)));
    const std::vector<double> by_logits = function({logits, weights}, {grad(sum(cross_entropy(logits, weights)), logits)}, options())(x, p)[0].to_doubles();
    const double e = std::exp(-1.25);
    const std::vector<double> last(by_logits.end() - 3, by_logits.end());
    expect_near(last, {e / (1 + e) - 0.5, 0, 1 / (1 + e) - 0.5}, tolerance, "gradient in " + std::string(name(dtype)));
  }
  const Variable one = input({float64, {1, 3}}, "one"), several = input({float64, {2, 3}}, "several");
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(one, several); }), HasSubstr("(2, 3)"));
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(Array::zeros({1, 3}, float64, device()), Array::zeros({2, 3}, float64, device())); }), HasSubstr("cross_entropy: (2, 3) cannot become (1, 3)"));
  if (!DAMO_HAS_CPU) return;
  verify_grad([](auto v) { return cross_entropy(v[0], softmax(v[1])); }, {logits({3, 4}, float64), logits({3, 4}, float64) * 0.5}, {.device = device()});
  verify_grad([](auto v) { return cross_entropy(v[0], v[1], 0); }, {logits({3, 4}, float64), Array::from({0.0, 0.25, 1.0, 0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.75, 0.0, 0.0}, {3, 4}, device())}, {.device = device()});
}

TEST_P(Softmax, SigmoidCrossEntropyIsExactInItsTails) {
  const std::vector<double> x{0, 0, 3, -3, 800, 800, -800, 40, 0.5}, y{0, 1, 0, 1, 1, 0, 0, 1, 0.25};
  std::vector<double> want, slope;
  const auto softplus = [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v))); };
  for (std::size_t i = 0; i < x.size(); ++i) {
    want.push_back(y[i] * softplus(-x[i]) + (1 - y[i]) * softplus(x[i]));
    slope.push_back(1 / (1 + std::exp(-x[i])) - y[i]);
  }
  for (const DType dtype : {float64, float32}) {
    const double tolerance = dtype == float64 ? 1e-14 : 3e-7;
    const Variable logits = vector("x", dtype), targets = vector("y", float64), labels = vector("labels", bool_);
    const Array at = astype(Array::from(x, device()), dtype), of = Array::from(y, device());
    const Variable loss = sigmoid_cross_entropy(logits, targets);
    EXPECT_EQ(loss.dtype(), dtype);
    const Results got = function({logits, targets}, {loss, grad(sum(loss), logits)}, options())(at, of);
    expect_near(got[0].to_doubles(), want, tolerance, std::string(name(dtype)));
    EXPECT_NEAR(got[0].to_doubles()[7] / std::exp(-40.0), 1, 1e-6);
    expect_near(got[1].to_doubles(), slope, tolerance, "gradient");
    expect_near(sigmoid_cross_entropy(at, of).to_doubles(), want, tolerance, "at once");
    EXPECT_EQ(function({logits, labels}, {sigmoid_cross_entropy(logits, labels)}, options())(at, of > 0.5)[0].dtype(), dtype);
  }
  EXPECT_THAT(error_of<ShapeError>([&] { sigmoid_cross_entropy(input({float32, {3}}, "x"), input({float32, {4}}, "y")); }),
              AllOf(HasSubstr("sigmoid_cross_entropy: cannot broadcast (3,) with (4,)"), HasSubstr("y float32 (4,)"), HasSubstr("softmax_test.cpp:")));
}

TEST_P(Softmax, ALossWithoutRowsIsAnErrorAtTheCall) {
  const Variable x = matrix("x"), labels = vector("labels", int64), p = matrix("p");
  const Array none = Array::zeros({0, 3}, float32, device()), no_labels = Array::zeros({0}, int64, device()), some = logits({2, 3}, float32);
  const auto refuses = [&](const std::string& who, const Variable& loss, const Variable& other, const Array& of_none, const Array& of_some) {
    for (const bool fuse : {true, false}) {
      for (const Variable& output : {mean(loss), grad(mean(loss), x)}) {
        const Function f = function({x, other}, {output}, {.fuse = fuse, .device = device()});
        EXPECT_THAT(error_of<ShapeError>([&] { f(none, of_none); }), AllOf(HasSubstr(who + ": there are no rows: the extent of axis 0 of the logits is 0"), HasSubstr("leave an empty minibatch out"), HasSubstr(" built at "), HasSubstr("softmax_test.cpp:"))) << fuse;
        EXPECT_TRUE(std::isfinite(f(some, of_some)[0].to_doubles()[0])) << "the next call is right";
      }
    }
  };
  refuses("cross_entropy", cross_entropy(x, labels), labels, no_labels, Array::from(some_labels(2, 3), device()));
  refuses("cross_entropy", cross_entropy(tanh(x), p), p, none, softmax(some));
  refuses("sigmoid_cross_entropy", sigmoid_cross_entropy(x, p), p, none, softmax(some));
  EXPECT_THAT(error_of<ShapeError>([&] { function({x, labels}, {cross_entropy(x, labels, 0)}, options())(Array::zeros({3, 0}, float32, device()), no_labels); }), HasSubstr("cross_entropy: there are no rows: the extent of axis 1 of the logits is 0"));
}

TEST(CrossEntropy, LooksForRowsWhereTheTypeDoesNotTell) {
  const Variable none = input({float32, {0, 3}}, "none"), some = input({float32, {4, 3}}, "some"), labels = vector("labels", int64), open = matrix("open");
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(none, labels); }),
              AllOf(HasSubstr("cross_entropy: there are no rows: the extent of axis 0 of the logits is 0"), HasSubstr("none float32 (0, 3)"), HasSubstr("cross_entropy built at "), HasSubstr("softmax_test.cpp:")));
  EXPECT_THAT(error_of<ShapeError>([&] { sigmoid_cross_entropy(none, none); }), AllOf(HasSubstr("sigmoid_cross_entropy: there are no rows"), HasSubstr("softmax_test.cpp:")));
  EXPECT_EQ(debugprint(sigmoid_cross_entropy(some, some)).find("not_empty"), std::string::npos);
  EXPECT_NE(debugprint(sigmoid_cross_entropy(open, open)).find("not_empty"), std::string::npos);
  EXPECT_EQ(debugprint(cross_entropy(some, labels)).find("rows_for"), std::string::npos);
  EXPECT_NE(debugprint(cross_entropy(open, labels)).find("rows_for"), std::string::npos);
}

TEST_P(Softmax, RowsKnownToBeOneDoNotStretchToLabels) {
  const Variable x = input({float32, {1, 4}}, "x"), labels = vector("labels", int64);
  const Function f = function({x, labels}, {cross_entropy(x, labels)}, options());
  const auto zeros = [&](const Shape& shape, DType dtype) { return Array::zeros(shape, dtype, device()); };
  EXPECT_THAT(f(zeros({1, 4}, float32), zeros({1}, int64))[0].to_doubles(), ElementsAre(DoubleNear(std::log(4.0), 1e-6)));
  EXPECT_THAT(error_of<ShapeError>([&] { f(zeros({1, 4}, float32), zeros({3}, int64)); }), HasSubstr("(3,) is not the (1,)"));
  EXPECT_THAT(error_of<ShapeError>([&] { cross_entropy(x, input({int64, {3}}, "three")); }), HasSubstr("(3,)"));
}

TEST_P(Softmax, GivesWhatFloat64Gives) {
  for (DType dtype : {float64, float32, float16, bfloat16}) {
    const double tolerance = dtype == float64 ? 1e-13 : dtype == float32 ? 2e-6 : dtype == float16 ? 2e-3 : 1.6e-2;
    const Variable x = matrix("x", dtype), labels = vector("labels", int64);
    const Function f = function({x, labels}, {softmax(x), log_softmax(x), cross_entropy(x, labels)}, options());
    for (const Shape& shape : {Shape{1, 1}, Shape{3, 1}, Shape{5, 3}, Shape{300, 10}, Shape{7, 1000}, Shape{2, 50257}}) {
      const Array in = logits(shape, dtype);
      const auto chosen = some_labels(shape[0], shape[1]);
      const Results results = f(in, Array::from(chosen, device()));
      const Reference expected(in.to_doubles(), static_cast<std::size_t>(shape[1]), chosen);
      expect_near(results[0].to_doubles(), expected.softmax, tolerance, "softmax " + to_string(shape));
      expect_near(results[1].to_doubles(), expected.log_softmax, tolerance, "log_softmax " + to_string(shape));
      expect_near(results[2].to_doubles(), expected.loss, tolerance, "cross_entropy " + to_string(shape));
      EXPECT_EQ(results[2].dtype(), dtype);
    }
  }
}

TEST_P(Softmax, GoesAlongAnyAxis) {
  const Variable x = tensor3("x", float64), labels = matrix("labels", uint8);
  const Array in = logits({4, 5, 6}, float64);
  for (int axis : {0, 1, 2, -1, -3}) {
    const std::int64_t classes = in.shape()[axis];
    const auto chosen = some_labels(120 / classes, classes);
    // The host sees the axis last.
    std::vector<int> last;
    for (int i = 0; i < 3; ++i) {
      if (i != (axis + 3) % 3) last.push_back(i);
    }
    Shape rows;
    for (int i : last) rows.push_back(in.shape()[i]);
    last.push_back((axis + 3) % 3);
    const Function f = function({x, labels}, {softmax(x, axis), cross_entropy(x, labels, axis)}, options());
    const Results results = f(in, astype(Array::from(chosen, rows, device()), uint8));
    const Reference expected(in.permute(last).to_doubles(), static_cast<std::size_t>(classes), chosen);
    expect_near(results[0].permute(last).to_doubles(), expected.softmax, 1e-13, "axis " + std::to_string(axis));
    expect_near(results[1].to_doubles(), expected.loss, 1e-13, "axis " + std::to_string(axis));
    EXPECT_EQ(results[1].shape(), rows);
  }
}

TEST_P(Softmax, IsTheSameInOneKernelAndInMany) {
  const Variable x = matrix("x"), labels = vector("labels", int32), g = vector("g");
  const Variable loss = cross_entropy(x, labels);
  const std::vector<Variable> inputs{x, labels, g}, outputs{loss, lop(loss, g, x), softmax(x, 0)};
  const std::vector<Array> arrays{logits({33, 70}, float32), astype(Array::from(some_labels(33, 70), device()), int32), logits({33}, float32)};
  const Results fused = function(inputs, outputs, options()).call(arrays), plain = function(inputs, outputs, {.fuse = false, .device = device()}).call(arrays);
  for (std::size_t i = 0; i < outputs.size(); ++i) expect_near(fused[i].to_doubles(), plain[i].to_doubles(), 1e-5, "output " + std::to_string(i));
}

TEST_P(Softmax, TakesNumbersOfAnySize) {
  const double inf = std::numeric_limits<double>::infinity();
  const Variable x = matrix("x"), labels = vector("labels", int32);
  const Function f = function({x, labels}, {softmax(x), cross_entropy(x, labels)}, options());
  const auto call = [&](const std::vector<float>& row, std::int32_t label) { return f(array(row, {1, 3}), Array::from(std::vector{label}, device())); };
  EXPECT_EQ(call({3e38f, 0, -3e38f}, 0)[0].to_doubles(), (Values{1, 0, 0}));
  EXPECT_EQ(call({3e38f, 0, -3e38f}, 0)[1].item().as_double(), 0);
  EXPECT_NEAR(call({1000, 0, 999}, 1)[1].item().as_double(), 1000 + std::log1p(std::exp(-1.0)), 1e-4);
  const auto i = static_cast<float>(inf);
  EXPECT_EQ(call({0, -i, -i}, 0)[0].to_doubles(), (Values{1, 0, 0}));
  EXPECT_EQ(call({0, -i, -i}, 1)[1].item().as_double(), inf) << "the label's class was ruled out";
  EXPECT_TRUE(std::isnan(call({-i, -i, -i}, 1)[1].item().as_double()));
  EXPECT_TRUE(std::isnan(call({i, 0, 0}, 0)[1].item().as_double()));
}

TEST_P(Softmax, HasTheGradientThatDifferencesShow) {
  const Variable x = matrix("x", float64), labels = vector("labels", int32);
  const Array chosen = astype(Array::from(some_labels(3, 4), device()), int32);
  const Values values = noise(12, 5);
  const Variable weights = matrix("weights", float64);
  const Array weighting = Array::from(noise(12, 6), {3, 4}, device());
  for (const Variable& cost : {mean(cross_entropy(x, labels)), sum(weights * softmax(x)), sum(weights * log_softmax(x, 0)), sum(sqr(logsumexp(x, 1)))}) {
    const Options any{.device = device(), .allow_unused_inputs = true};
    const Function f = function({x, labels, weights}, {cost}, any), g = function({x, labels, weights}, {grad(cost, x)}, any);
    const auto at = [&](const Values& point) { return f(Array::from(point, {3, 4}, device()), chosen, weighting)[0].item().as_double(); };
    const Values found = g(Array::from(values, {3, 4}, device()), chosen, weighting)[0].to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) {
      Values above = values, below = values;
      above[i] += 1e-6, below[i] -= 1e-6;
      ASSERT_NEAR(found[i], (at(above) - at(below)) / 2e-6, 1e-7) << "element " << i;
    }
  }
}

TEST_P(Softmax, HasTheGradientOfMeanCrossEntropyInFloat32) {
  const Variable x = matrix("x"), labels = vector("labels", int32);
  const Function g = function({x, labels}, {grad(mean(cross_entropy(x, labels)), x)}, options());
  for (const Shape& shape : {Shape{1, 3}, Shape{50, 17}, Shape{3, 40000}}) {
    const Array in = logits(shape, float32);
    const auto classes = static_cast<std::size_t>(shape[1]);
    const auto chosen = some_labels(shape[0], shape[1]);
    Values expected = Reference(in.to_doubles(), classes, chosen).softmax;
    for (std::size_t row = 0; row < chosen.size(); ++row) expected[row * classes + static_cast<std::size_t>(chosen[row])] -= 1;
    for (double& value : expected) value /= static_cast<double>(shape[0]);
    expect_near(g(in, astype(Array::from(chosen, device()), int32))[0].to_doubles(), expected, 2e-6, to_string(shape));
  }
}

TEST_P(Softmax, SaysWhichLabelIsOutOfRange) {
  const Variable x = matrix("x");
  for (DType dtype : {int8, int32, int64, uint64}) {
    const Variable labels = vector("labels", dtype);
    const Variable loss = cross_entropy(x, labels);
    for (const Variable& output : {loss, grad(sum(loss), x)}) {
      const Function f = function({x, labels}, {output}, options());
      const auto call = [&](double label) {
        const Results results = f(logits({3, 5}, float32), astype(Array::from(Values{0, label, 4}, device()), dtype));
        results[0].to_doubles();
        return results;
      };
      EXPECT_THAT(error_of<IndexError>([&] { call(5); }), AllOf(HasSubstr("cross_entropy: position 5 is not on axis 1, whose extent is 5"), HasSubstr("from 0 to 4")));
      EXPECT_THAT(error_of<IndexError>([&] { call(100); }), HasSubstr("position 100 is not on axis 1"));
      if (is_signed(dtype)) EXPECT_THAT(error_of<IndexError>([&] { call(-1); }), HasSubstr("position -1 is not on axis 1"));
      EXPECT_EQ(call(4)[0].dtype(), float32) << "the next call is right";
    }
  }
}

TEST_P(Softmax, IndexAlongNumbersTheElementsOfRows) {
  const Variable x = matrix("x");
  const Array in = logits({2, 3}, float32);
  const auto of = [&](const Variable& y, bool fuse) { return function({x}, {y}, {.fuse = fuse, .device = device()})(in)[0].to_doubles(); };
  for (bool fuse : {true, false}) {
    EXPECT_EQ(of(index_along(x, 1), fuse), (Values{0, 1, 2, 0, 1, 2}));
    EXPECT_EQ(of(index_along(x, 0), fuse), (Values{0, 0, 0, 1, 1, 1}));
    EXPECT_EQ(of(index_along(x, Axes()), fuse), (Values{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(of(index_along(transpose(x), 0) * 2 + 1, fuse), (Values{1, 1, 3, 3, 5, 5}));
    EXPECT_EQ(of(cast(le(index_along(x, 1), index_along(x, 0)), int32), fuse), (Values{1, 0, 0, 1, 1, 0})) << "a causal mask";
    EXPECT_EQ(of(sum(where(eq(index_along(x, 1), 1), x, 0.0), 1), fuse), (Values{in.to_doubles()[1], in.to_doubles()[4]}));
  }
  EXPECT_EQ(function({x}, {index_along(x, 1)}, options())(logits({0, 3}, float32))[0].shape(), (Shape{0, 3}));
}

DAMO_ON_EACH_DEVICE(Softmax);

}  // namespace
}  // namespace damo
