// Values of gradients on each device, against central differences in float64 and against closed forms.
#include <damo/damo.hpp>

#include <cmath>
#include <random>

#include <gmock/gmock.h>

#include "ops/rows.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class GradientOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Options options() const { return {.device = device(), .allow_unused_inputs = true}; }
};

struct Range {
  double low, high;
};

/// Where the row is smooth but for kinks, which the test leaves out, and not steep.
Range range_of(const ElementwiseRow& row, int input) {
  if (row.name == "pow" && input == 0) return {0.2, 3};
  if (row.name == "gamma" || row.name == "gammaln" || row.name == "psi" || row.name == "trigamma") return {0.7, 3};
  if (row.name == "polygamma") return input == 0 ? Range{2, 2} : Range{0.7, 3};
  if ((row.name == "mod" || row.name == "fmod" || row.name == "int_div" || row.name == "true_div") && input == 1) return {0.5, 3};
  if (row.name == "tan") return {-1.3, 1.3};
  const double low = std::max(row.low, -3.0), high = std::min(row.high, 3.0), margin = 0.05 * (high - low);
  return {low + margin, high - margin};
}

constexpr std::size_t kPoints = 96;

TEST_P(GradientOnEachDevice, OfEachRowIsItsCentralDifference) {
  std::vector<Variable> inputs, outputs;
  std::vector<const ElementwiseRow*> rows;
  const Variable g = vector("g", float64), condition = vector("condition", bool_);
  for (const ElementwiseRow& row : builtin_rows()) {
    if (result_of(row, float64) != float64 || !takes(row, float64)) continue;
    const Variable x[] = {vector("x", float64), vector("y", float64), vector("z", float64)};
    const Variable first = row.condition_first ? condition : x[0];
    const int count = arity(row);
    const Variable y = count == 1   ? apply_elementwise(row, {first})
                       : count == 2 ? apply_elementwise(row, {first, x[1]})
                                    : apply_elementwise(row, {first, x[1], x[2]});
    rows.push_back(&row);
    inputs.insert(inputs.end(), x, x + 3);
    outputs.push_back(y);
    for (int i = 0; i < 3; ++i) {
      const bool none = i >= count || (i == 0 && row.condition_first);
      outputs.push_back(none ? second(x[i], 0.0) : lop(y, g, x[i], Disconnected::kZero));
    }
  }
  inputs.push_back(g);
  inputs.push_back(condition);
  const Function f = function(inputs, outputs, options());

  std::mt19937_64 random(5);
  std::vector<std::vector<double>> points;
  for (const ElementwiseRow* row : rows) {
    for (int i = 0; i < 3; ++i) {
      const Range range = range_of(*row, i);
      std::vector<double>& values = points.emplace_back();
      for (std::size_t k = 0; k < kPoints; ++k)
        values.push_back(std::uniform_real_distribution(range.low, range.high)(random));
    }
  }
  std::vector<double> weights;
  std::vector<std::uint8_t> chosen;
  for (std::size_t k = 0; k < kPoints; ++k)
    weights.push_back(std::uniform_real_distribution(0.5, 2.0)(random)), chosen.push_back(k % 3 == 1);
  const std::unique_ptr<bool[]> conditions(new bool[kPoints]);
  std::copy(chosen.begin(), chosen.end(), conditions.get());
  const auto call = [&](int moved, double by) {  // input `moved` of every row
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < points.size(); ++i) {
      std::vector<double> values = points[i];
      if (static_cast<int>(i % 3) == moved)
        for (double& value : values) value += by;
      arrays.push_back(Array::from(values, device()));
    }
    arrays.push_back(Array::from(weights, device()));
    arrays.push_back(Array::from(std::span<const bool>(conditions.get(), kPoints), {std::int64_t(kPoints)}, device()));
    std::vector<std::vector<double>> results;
    for (const Array& result : f.call(arrays)) results.push_back(result.to_vector<double>());
    return results;
  };
  constexpr double kStep = 1e-5;
  const auto at = call(-1, 0);
  for (int moved = 0; moved < 3; ++moved) {
    const auto above = call(moved, kStep), below = call(moved, -kStep);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (moved >= arity(*rows[r]) || (moved == 0 && (rows[r]->condition_first || rows[r]->name == "polygamma"))) continue;
      const std::vector<double>& gradient = at[4 * r + 1 + static_cast<std::size_t>(moved)];
      int seen = 0, wrong = 0;
      for (std::size_t k = 0; k < kPoints; ++k) {
        const double y = at[4 * r][k], right = (above[4 * r][k] - y) / kStep, left = (y - below[4 * r][k]) / kStep;
        if (!(std::fabs(right - left) < 1e-2 * (1 + std::fabs(right)))) continue;  // a kink
        ++seen;
        const double want = weights[k] * (right + left) / 2;
        if (std::fabs(gradient[k] - want) < 1e-6 * (1 + std::fabs(want)) || ++wrong > 3) continue;
        ADD_FAILURE() << rows[r]->name << " by input " << moved << " at (" << points[3 * r][k] << ", "
                      << points[3 * r + 1][k] << ", " << points[3 * r + 2][k] << ") is " << gradient[k] << ", not "
                      << want;
      }
      EXPECT_GT(seen, 80) << rows[r]->name << " by input " << moved << ": too few points are smooth";
    }
  }
}

TEST_P(GradientOnEachDevice, AtEdgesIsFinite) {
  const auto x = vector("x", float64), y = vector("y", float64);
  const std::vector<Variable> ones = {second(x, 1.0)};
  const auto of_pow = lop({pow(x, y)}, {ones[0]}, {x, y});
  const auto of_hypot = lop({hypot(x, y)}, {ones[0]}, {x, y});
  const Function f = function(
      {x, y}, {of_pow[0], of_pow[1], of_hypot[0], lop(relu(x), ones[0], x), lop(maximum(x, x), ones[0], x)}, options());
  const Results results =
      f(Array::from(std::vector<double>{0, 0, 0}, device()), Array::from(std::vector<double>{0, 2, 1}, device()));
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(0, 0, 1));
  EXPECT_THAT(results[1].to_vector<double>(), Each(0));
  EXPECT_THAT(results[2].to_vector<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(results[3].to_vector<double>(), Each(0));
  EXPECT_THAT(results[4].to_vector<double>(), Each(1)) << "one of two equal inputs has it, not both";
}

TEST_P(GradientOnEachDevice, OfCopysignOfNanIsNanWhateverItsSign) {
  const Variable x = vector("x", float64), y = vector("y", float64);
  const Function f = function({x, y}, {grad(sum(copysign(x, y)), x)}, {.device = device()});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Array gradients = f(Array::from(std::vector{nan, -nan, -2.0, 2.0, -2.0}, device()), Array::from(std::vector{-1.0, -1.0, -1.0, -1.0, 1.0}, device()));
  const std::vector<double> gradient = gradients.to_doubles();
  EXPECT_TRUE(std::isnan(gradient[0]));
  EXPECT_TRUE(std::isnan(gradient[1]));
  EXPECT_EQ(std::vector(gradient.begin() + 2, gradient.end()), (std::vector{1.0, -1.0, -1.0}));
}

TEST_P(GradientOnEachDevice, SumsOverAxesThatWereBroadcast) {
  const auto x = matrix("x"), bias = vector("bias"), g = matrix("g");
  const auto column = input({float32, {kUnknown, 1}}, "column"), number = scalar("number");
  const auto gradients = lop({(x + bias) * column + number}, {g}, {bias, column, number});
  const Function f = function({x, bias, column, number, g}, {gradients[0], gradients[1], gradients[2]}, options());
  const auto results =
      f.call<3>(range({2, 3}), array({1, 2, 3}), array({10, 20}, {2, 1}), array({5}, {}), range({2, 3}, 1));
  EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(90, 120, 150));  // sum over rows of g column
  EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(1 * 1 + 2 * 3 + 3 * 5, 4 * 4 + 5 * 6 + 6 * 8));
  EXPECT_EQ(results[1].shape(), (Shape{2, 1}));
  EXPECT_EQ(results[2].item().as_double(), 21);
}

TEST_P(GradientOnEachDevice, SumsAreRightForEveryDtypeShapeAndLayout) {
  const Slice whole, back{{}, {}, -1};
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    const auto x = input({dtype, {1, kUnknown, 1}}, "x"), g = input({dtype, {kUnknown, kUnknown, kUnknown}}, "g");
    const auto last = input({dtype, {kUnknown}}, "last");
    const auto gradients = lop({x + last}, {g}, {x, last});
    const Function f = function({x, last, g}, {gradients[0], gradients[1]}, options());
    for (const Shape& shape : {Shape{3, 5, 7}, Shape{1, 1, 1}, Shape{40, 3, 50}, Shape{700, 2, 3}, Shape{2, 1, 1500},
                               Shape{0, 2, 3}, Shape{3, 0, 2}, Shape{2, 2, 0}}) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < shape.size(); ++i)
        values.push_back(static_cast<double>((i * 7 + i / 5) % 9) / 8 - 0.5);
      Array g64 = Array::from(values, shape, device());
      const auto wide = input({float64, {kUnknown, kUnknown, kUnknown}});
      const Array given = function({wide}, {cast(wide, dtype)}, options())(g64);
      for (const Array& lying : {given, given.slice({whole, back, whole}), given.transpose().copy().transpose()}) {
        const auto v = lying.to_doubles();
        std::vector<double> of_x(static_cast<std::size_t>(shape[1]), 0.0),
            of_last(static_cast<std::size_t>(shape[2]), 0.0);
        for (std::int64_t i = 0; i < shape.size(); ++i) {
          of_x[static_cast<std::size_t>(i / shape[2] % shape[1])] += v[static_cast<std::size_t>(i)];
          of_last[static_cast<std::size_t>(i % shape[2])] += v[static_cast<std::size_t>(i)];
        }
        const auto results = f.call<2>(Array::zeros({1, shape[1], 1}, dtype, device()),
                                       Array::zeros({shape[2]}, dtype, device()), lying);
        const double allowed = dtype == bfloat16 ? 4e-3 : dtype == float16 ? 5e-4 : 1e-5;
        for (const auto& [got, want] :
             {std::pair(results[0].to_doubles(), of_x), std::pair(results[1].to_doubles(), of_last)}) {
          ASSERT_EQ(got.size(), want.size());
          for (std::size_t i = 0; i < got.size(); ++i) {
            EXPECT_NEAR(got[i], want[i], allowed * (1 + std::fabs(want[i])))
                << name(dtype) << " " << to_string(shape) << " " << i;
          }
        }
      }
    }
  }
}

TEST_P(GradientOnEachDevice, GoesThroughViewsAndCasts) {
  const auto x = matrix("x"), g = tensor3("g", float64);
  const Variable y = cast(expand_dims(contiguous(transpose(x)) * 3.0, 1), float64) * 2.0;
  const Function f = function({x, g}, {lop(y, g, x)}, options());
  const Array gradients = Array::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {3, 1, 2}, device());
  EXPECT_THAT(Array(f(range({2, 3}), gradients)).to_vector<float>(), ElementsAre(6, 18, 30, 12, 24, 36));
}

TEST_P(GradientOnEachDevice, CanBeDifferentiatedAgain) {
  const auto x = scalar("x", float64);
  const Variable y = sin(x) * sqr(x), first = grad(y, x), second = grad(first, x);
  const double at = 0.7;
  const auto results = function({x}, {first, second}, options()).call<2>(Array::scalar(at, device()));
  EXPECT_NEAR(results[0].item().as_double(), std::cos(at) * at * at + 2 * at * std::sin(at), 1e-12);
  EXPECT_NEAR(results[1].item().as_double(), -std::sin(at) * at * at + 4 * at * std::cos(at) + 2 * std::sin(at), 1e-12);
}

TEST_P(GradientOnEachDevice, StopsWhereItIsToldTo) {
  const auto x = vector("x"), y = vector("y");
  const auto of_x = [&](const Variable& cost, Disconnected disconnected = Disconnected::kRaise) {
    return Array(function({x, y}, {grad(cost, {x}, disconnected)[0]}, {.device = device(), .allow_unused_inputs = true})(array({1, -2, 3}), array({4, 5, 60}))).to_vector<float>();
  };
  EXPECT_THAT(of_x(sum(consider_constant(x) * x)), ElementsAre(1, -2, 3));
  EXPECT_THAT(of_x(sum(consider_constant(x * x))), ElementsAre(0, 0, 0));
  EXPECT_THAT(of_x(sum(disconnected_grad(x) * x)), ElementsAre(1, -2, 3));
  EXPECT_THAT(error_of([&] { of_x(sum(disconnected_grad(x * x) * y)); }), HasSubstr("is read only by ops that pass no gradient on"));
  EXPECT_THAT(of_x(sum(disconnected_grad(x * x) * y), Disconnected::kZero), ElementsAre(0, 0, 0));
  EXPECT_THAT(of_x(sum(grad_clip(x, -3, 4.5) * y)), ElementsAre(4, 4.5, 4.5));
  EXPECT_THAT(error_of([&] { grad_clip(x, 1, 0); }), HasSubstr("grad_clip: the lower bound"));
  const Function values = function({x}, {consider_constant(x), disconnected_grad(x), grad_clip(x, 0, 1)}, options());
  for (const Array& value : values(array({1, -2, 3}))) EXPECT_THAT(value.to_vector<float>(), ElementsAre(1, -2, 3));
  EXPECT_EQ(function({x}, {exp(consider_constant(x * 2.0))}, options()).kernels().size(), 1u);
}

TEST_P(GradientOnEachDevice, OfLogsumexpIsTheSoftmaxOfARow) {
  const auto x = matrix("x"), w = vector("w");
  const double inf = std::numeric_limits<double>::infinity();
  const Variable cost = sum(logsumexp(x, 1) * w), first = grad(cost, {x})[0];
  const Function f = function({x, w}, {first, grad(sum(sqr(first)), {x})[0]}, options());
  const std::vector<double> rows{1, 2, 3, 700, 701, 700, -inf, 0, 0}, weights{2, -1, 3};
  const auto [slope, curve] = f.call<2>(array(std::vector<float>(rows.begin(), rows.end()), {3, 3}), array(std::vector<float>(weights.begin(), weights.end())));
  const std::vector<double> got = slope.to_doubles(), second = curve.to_doubles();
  for (std::size_t row = 0; row < 3; ++row) {
    double total = 0, p[3], mixed = 0;
    for (std::size_t i = 0; i < 3; ++i) total += std::exp(rows[3 * row + i] - rows[3 * row + 1]);
    for (std::size_t i = 0; i < 3; ++i) p[i] = std::exp(rows[3 * row + i] - rows[3 * row + 1]) / total;
    for (std::size_t i = 0; i < 3; ++i) mixed += 2 * weights[row] * weights[row] * p[i] * p[i];
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(got[3 * row + i], weights[row] * p[i], 1e-6);
      // d/dx_i of sum (w p_j)^2 = p_i (2 w^2 p_i - sum 2 w^2 p_j^2)
      EXPECT_NEAR(second[3 * row + i], p[i] * (2 * weights[row] * weights[row] * p[i] - mixed), 1e-5);
    }
  }
}

TEST_P(GradientOnEachDevice, FusesWithTheGraph) {
  const auto x = matrix("x"), y = matrix("y"), g = matrix("g");
  const Variable z = tanh(x * y) + sigmoid(x);
  const auto gradients = lop({z}, {g}, {x, y});
  EXPECT_EQ(function({x, y, g}, {z, gradients[0], gradients[1]}, options()).graph().node_count(), 1);
}

TEST_P(GradientOnEachDevice, SumsOverWhatStretches) {
  const auto x = matrix("x"), y = matrix("y"), g = matrix("g");
  for (const bool fuse : {true, false}) {
    const Function f = function({x, y, g}, {lop(x * y, g, y)}, {.fuse = fuse, .device = device(), .allow_unused_inputs = true});
    EXPECT_EQ(Array(f(range({2, 3}), range({2, 3}), range({2, 3}))).shape(), (Shape{2, 3}));
    EXPECT_THAT(error_of([&] { f(range({2, 3}), range({2, 3}), range({1, 3})); }), HasSubstr("cannot broadcast"));
  }
  const auto row = input({float32, {1, kUnknown}}, "row");
  const Function sums = function({x, row, g}, {lop(x * row, g, row), lop(x * 1.0, row, x)}, options());
  const auto [of_row, spread] = sums.call<2>(range({2, 3}), range({1, 3}), range({2, 3}));
  EXPECT_THAT(of_row.to_vector<float>(), ElementsAre(9, 17, 29)) << "a sum over what stretched";
  EXPECT_THAT(spread.to_vector<float>(), ElementsAre(0, 1, 2, 0, 1, 2)) << "g may broadcast";
}

TEST_P(GradientOnEachDevice, StretchesNothingUnforeseen) {
  const auto x = matrix("x"), y = matrix("y");
  for (const bool fuse : {true, false}) {
    const Function f = function({x, y}, {grad(sum(x * y), {y})[0]}, {.fuse = fuse, .device = device()});
    EXPECT_THAT(error_of([&] { f(range({2, 3}), range({1, 3})); }), HasSubstr("cannot broadcast (2, 3) with (1, 3)"));
  }
}

DAMO_ON_EACH_DEVICE(GradientOnEachDevice);

}  // namespace
}  // namespace damo
