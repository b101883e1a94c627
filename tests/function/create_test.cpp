// Values that a graph makes itself (src/ops/create.cpp), against what NumPy gives.
#include <damo/ops/create.hpp>

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/loop.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/decompositions.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include <damo/shared.hpp>
#include <damo/verify_grad.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Numbers = std::vector<double>;

class CreateOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  struct Expected {
    Variable value;
    DType dtype;
    Shape shape;
    Numbers elements;
  };
  /// All values in one Function.
  void check(const std::vector<Expected>& all, const std::vector<Variable>& inputs = {}, const std::vector<Array>& at = {}) const {
    std::vector<Variable> values;
    for (const Expected& each : all) values.push_back(each.value);
    const Results results = function(inputs, values, {.device = device(), .allow_unused_inputs = true}).call(at);
    for (std::size_t i = 0; i < all.size(); ++i) {
      SCOPED_TRACE("value " + std::to_string(i));
      EXPECT_EQ(all[i].value.dtype(), all[i].dtype);
      EXPECT_EQ(results[i].shape(), all[i].shape);
      EXPECT_EQ(results[i].to_doubles(), all[i].elements);
    }
  }
};

TEST_P(CreateOnEachDevice, FilledTensorsHoldOneNumber) {
  check({{symbolic::zeros({2, 2}), float32, {2, 2}, {0, 0, 0, 0}},
         {symbolic::ones({3}, int8), int8, {3}, {1, 1, 1}},
         {symbolic::full({1, 2}, 2.5, float64), float64, {1, 2}, {2.5, 2.5}},
         {symbolic::full({}, 7, int64), int64, {}, {7}},
         {symbolic::full({2}, true, bool_), bool_, {2}, {1, 1}},
         {symbolic::full({2}, 0.1, float32), float32, {2}, {0.1f, 0.1f}},
         {symbolic::zeros({0, 3}), float32, {0, 3}, {}}});
}

TEST_P(CreateOnEachDevice, RangesHaveNumPysLengthsAndValues) {
  check({{symbolic::arange(4, float64), float64, {4}, {0, 1, 2, 3}},
         {symbolic::arange(1, 2, 0.25, float64), float64, {4}, {1, 1.25, 1.5, 1.75}},
         {symbolic::arange(0, 1, 0.1, float64), float64, {10}, {0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5, 0.6000000000000001, 0.7000000000000001, 0.8, 0.9}},
         {symbolic::arange(5, 0, -2, int32), int32, {3}, {5, 3, 1}},
         {symbolic::arange(3, 1, 1, int32), int32, {0}, {}},
         {symbolic::arange(0, 1, 0.3, float16), float16, {4}, {0, 0.300048828125, 0.60009765625, 0.89990234375}},
         {symbolic::arange(~std::uint64_t{0} - 2, ~std::uint64_t{0}, 1, uint64) - (~std::uint64_t{0} - 2), uint64, {2}, {0, 1}},
         {symbolic::linspace(0, 1, 5), float32, {5}, {0, 0.25, 0.5, 0.75, 1}},
         {symbolic::linspace(2, 1, 1), float32, {1}, {2}},
         {symbolic::linspace(2, 1, 0), float32, {0}, {}},
         {symbolic::linspace(-1, 1, 4, int32), int32, {4}, {-1, -1, 0, 1}}});
  EXPECT_EQ(linspace(-1, 1, 4, int32, device()).to_doubles(), (Numbers{-1, -1, 0, 1}));
}

TEST_P(CreateOnEachDevice, RangesOfNumbersOfTheCallAreNumPys) {
  const Variable n = scalar("n", int32), end = scalar("end", float64), step = scalar("step", float64);
  const Function f = function({n, end, step}, {arange(n), arange(2, n, 3), arange(-1.0, end, step), arange(n, float16) * 0.5, sum(arange(n))}, {.device = device()});
  const auto at = [&](int count, double stop, double by) { return f(Array::scalar(count, device()), Array::scalar(stop, device()), Array::scalar(by, device())); };
  const Results some = at(9, 0.3, 0.5);
  EXPECT_EQ(some[0].dtype(), int32);
  EXPECT_EQ(some[0].to_doubles(), (Numbers{0, 1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_EQ(some[1].to_doubles(), (Numbers{2, 5, 8}));
  EXPECT_EQ(some[2].to_doubles(), (Numbers{-1, -0.5, 0}));
  EXPECT_EQ(some[3].dtype(), float16);
  EXPECT_EQ(some[3].to_doubles(), (Numbers{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4}));
  EXPECT_EQ(some[4].to_doubles(), (Numbers{36}));
  const Results others = at(-4, -3.0, -0.75);
  EXPECT_EQ(others[0].shape(), (Shape{0}));
  EXPECT_EQ(others[2].to_doubles(), (Numbers{-1, -1.75, -2.5}));
  EXPECT_EQ(others[4].to_doubles(), (Numbers{0}));
  EXPECT_EQ(at(3, 1.0, 2.0)[0].to_doubles(), (Numbers{0, 1, 2})) << "of another length again";
  EXPECT_THAT(error_of([&] { at(3, 1.0, 0.0); }), AllOf(HasSubstr("arange: the step is 0"), HasSubstr("create_test.cpp")));
  EXPECT_THAT(error_of([&] { at(3, std::nan(""), 1.0); }), HasSubstr("arange: the range has no end"));
  EXPECT_THAT(error_of([] { arange(vector("v")); }), AllOf(HasSubstr("arange: stop has 1 axis, and is one number"), HasSubstr("create_test.cpp")));
}

TEST_P(CreateOnEachDevice, RangesOfNumbersOfTheCallCountRowsAndHaveGradients) {
  const Variable scores = matrix("scores", float64), labels = vector("labels", int64), start = scalar("start", float64), step = scalar("step", float64);
  const Variable chosen = subtensor(scores, {arange(subtensor(shape_of(labels), {0})), labels});  // p[T.arange(y.shape[0]), y]
  const Variable cost = sum(sqr(arange(start, cast(subtensor(shape_of(labels), {0}), float64), step)));
  const Function f = function({scores, labels, start, step}, {chosen, grad(cost, start), grad(cost, step)}, {.device = device()});
  const Results results = f(astype(range({3, 4}), float64), Array::from(std::vector<std::int64_t>{1, 0, 3}, device()), Array::scalar(0.5, device()), Array::scalar(1.0, device()));
  EXPECT_EQ(results[0].to_doubles(), (Numbers{1, 4, 11}));
  EXPECT_EQ(results[1].to_doubles(), (Numbers{2 * (0.5 + 1.5 + 2.5)}));
  EXPECT_EQ(results[2].to_doubles(), (Numbers{2 * (1.5 + 2 * 2.5)}));
}

TEST_P(CreateOnEachDevice, LongRangesEndWhereTheyShouldAndTakeNoMemory) {
  check({{max(symbolic::linspace(0.0, 0.7, 5001, float64)), float64, {}, {0.7}}});
  const Variable v = vector("v");
  EXPECT_EQ(function({v}, {v + symbolic::arange(1000)}, {.device = device()}).graph().node_count(), 1) << "one kernel";
}

TEST_P(CreateOnEachDevice, MatricesOfOnesAndZerosFollowTheirDiagonal) {
  check({{symbolic::eye(2, {}, 0, bool_), bool_, {2, 2}, {1, 0, 0, 1}},
         {symbolic::eye(2, 3, 1), float32, {2, 3}, {0, 1, 0, 0, 0, 1}},
         {symbolic::eye(3, 2, -1), float32, {3, 2}, {0, 0, 1, 0, 0, 1}},
         {symbolic::eye(2, {}, 5), float32, {2, 2}, {0, 0, 0, 0}},
         {symbolic::eye(0, 2), float32, {0, 2}, {}},
         {symbolic::tri(3), float32, {3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1}},
         {symbolic::tri(2, 3, 1), float32, {2, 3}, {1, 1, 0, 1, 1, 1}},
         {symbolic::tri(3, 2, -1), float32, {3, 2}, {0, 0, 1, 0, 1, 1}}});
  EXPECT_EQ(tri(2, 3, 1, float32, device()).to_doubles(), (Numbers{1, 1, 0, 1, 1, 1}));
  EXPECT_EQ(eye_like(range({2, 3}), -1).to_doubles(), (Numbers{0, 0, 0, 1, 0, 0}));
}

TEST_P(CreateOnEachDevice, ValuesLikeOthersFollowThemAtTheCall) {
  const Variable x = matrix("x"), n = vector("n", int16);
  const auto at = [&](std::int64_t rows, std::int64_t columns, const Numbers& identity, const Numbers& upper) {
    const Numbers each(static_cast<std::size_t>(rows * columns), 1);
    Numbers sevens = each;
    for (double& seven : sevens) seven = 7;
    check({{zeros_like(x), float32, {rows, columns}, Numbers(each.size(), 0)},
           {ones_like(exp(x)), float32, {rows, columns}, each},
           {full_like(x, 7.9, int32), int32, {rows, columns}, sevens},
           {ones_like(n, bool_), bool_, {2}, {1, 1}},
           {eye_like(x), float32, {rows, columns}, identity},
           {eye_like(x, 1), float32, {rows, columns}, upper}},
          {x, n}, {range({rows, columns}), Array::from(std::vector<std::int16_t>{5, 6}, device())});
  };
  at(2, 3, {1, 0, 0, 0, 1, 0}, {0, 1, 0, 0, 0, 1});
  at(0, 4, {}, {});
  EXPECT_EQ(function({x}, {zeros_like(x) + x * 2.0}, {.device = device()}).graph().node_count(), 1) << "one kernel";
}

TEST_P(CreateOnEachDevice, DiagPutsAVectorOnADiagonal) {
  const Variable x = vector("x"), b = vector("b", bool_), three = input({int32, {3}}, "three");
  check({{diag(x), float32, {2, 2}, {4, 0, 0, 5}},
         {diag(x, 1), float32, {3, 3}, {0, 4, 0, 0, 0, 5, 0, 0, 0}},
         {diag(x, -2), float32, {4, 4}, {0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0}},
         {diagonal(diag(x)), float32, {2}, {4, 5}},
         {diag(b), bool_, {2, 2}, {1, 0, 0, 1}},
         {diag(three), int32, {3, 3}, {1, 0, 0, 0, 2, 0, 0, 0, 3}}},
        {x, b, three}, {array({4, 5}), Array::ones({2}, bool_, device()), Array::from(std::vector<std::int32_t>{1, 2, 3}, device())});
  check({{diag(x), float32, {0, 0}, {}}, {diag(x, 1), float32, {1, 1}, {0}}}, {x}, {array({})});
  check({{diag(x, -1), float32, {2, 2}, {0, 0, 9, 0}}, {diag(x), float32, {1, 1}, {9}}}, {x}, {array({9})});
  EXPECT_EQ(diag(array({4, 5}), -2).to_doubles(), (Numbers{0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 5, 0, 0}));
  EXPECT_EQ(diag(array({}), 1).to_doubles(), (Numbers{0}));
}

TEST_P(CreateOnEachDevice, ShapeAndSizeAreExtentsAtTheCall) {
  const Variable half = input({float16, {kUnknown, 2, kUnknown}}, "half"), known = input({float32, {2, 3}}, "known");
  const auto at = [&](const Shape& extents) {
    check({{shape_of(exp(half)), int64, {3}, {static_cast<double>(extents[0]), 2, static_cast<double>(extents[2])}},
           {size_of(half), int64, {}, {static_cast<double>(extents.size())}},
           {shape_of(known), int64, {2}, {2, 3}},
           {size_of(known), int64, {}, {6}},
           {shape_of(sum(half)), int64, {0}, {}},
           {size_of(sum(half)), int64, {}, {1}}},
          {half, known}, {Array::zeros(extents, float16, device()), range({2, 3})});
  };
  at({70000, 2, 1});
  at({1, 2, 0});
}

TEST_P(CreateOnEachDevice, StandInLoopsAndAsNewValuesOfSharedVariables) {
  const Variable x = matrix("x");
  const auto states = scan({.initial = {Initial(x)}, .steps = 2}, [](const Variable& h) { return h + eye_like(h) + symbolic::arange(2) + ones_like(h) * cast(size_of(h), float32); });
  check({{states[0], float32, {2, 2, 2}, {5, 5, 4, 6, 10, 10, 8, 12}}}, {x}, {Array::zeros({2, 2}, float32, device())});
  const Shared w = shared("w", array({3, 4})), v = shared("v", Array::zeros({2, 2}, float32, device()));
  function({}, std::vector<Variable>{}, {.device = device(), .updates = {{w, symbolic::linspace(1, 2, 2)}, {v, diag(w)}}})();
  EXPECT_EQ(w.array().to_doubles(), (Numbers{1, 2}));
  EXPECT_EQ(v.array().to_doubles(), (Numbers{3, 0, 0, 4}));
}

TEST_P(CreateOnEachDevice, GradientsOfDiagAreItsElementsAndOfLikesNone) {
  using In = std::span<const Variable>;
  const Array v = Array::from(std::vector<double>{0.5, -1.5, 2}, device()), m = Array::from(std::vector<double>{1, 2, 3, 4, 5, 6}, {2, 3}, device());
  const std::vector<GradientCase> cases = {
      {"diag above", [](In in) { return diag(sqr(in[0]), 2); }, {v}},
      {"diag below", [](In in) { return sqr(diag(in[0], -1)); }, {v}},
      {"likes", [](In in) { return in[0] * ones_like(in[0]) + eye_like(in[0], 1) * in[0]; }, {m}}};
  verify_grad(cases, {.device = device()});
  const Variable x = matrix("x");
  EXPECT_THAT(error_of([&] { grad(sum(zeros_like(x)), x); }), HasSubstr("is read only by ops that pass no gradient on"));
}

TEST_P(CreateOnEachDevice, SaysWhatCannotBeMade) {
  EXPECT_THAT(error_of([] { symbolic::zeros({2, -1}); }), AllOf(HasSubstr("zeros: the extent of axis 1 is -1"), HasSubstr("create_test.cpp")));
  EXPECT_THAT(error_of([] { symbolic::eye(-3); }), HasSubstr("eye: the extent of axis 0 is -3"));
  EXPECT_THAT(error_of([] { symbolic::tri(2, -3); }), HasSubstr("tri: the extent of axis 1 is -3"));
  EXPECT_THAT(error_of([] { symbolic::full({std::int64_t{1} << 40, std::int64_t{1} << 40}, 1); }), HasSubstr("has more than 2^63 elements"));
  EXPECT_THAT(error_of([] { symbolic::ones({std::int64_t{1} << 61}); }), HasSubstr("ones: a tensor of shape (2305843009213693952,) and dtype float32 has more than 2^63 bytes"));
  EXPECT_THAT(error_of([] { symbolic::arange(0, 1, 0); }), AllOf(HasSubstr("arange: the step is 0"), HasSubstr("create_test.cpp")));
  EXPECT_THAT(error_of([] { symbolic::arange(0.0, INFINITY); }), HasSubstr("arange: the range has no end"));
  EXPECT_THAT(error_of([] { symbolic::linspace(0, 1, -2); }), HasSubstr("linspace: -2 numbers cannot be made"));
  const Variable x = matrix("x");
  EXPECT_THAT(error_of([&] { diag(x); }), AllOf(HasSubstr("diag: x has 2 axes, not 1"), HasSubstr("diagonal takes it out of a matrix"), HasSubstr("create_test.cpp")));
  EXPECT_THAT(error_of([&] { eye_like(sum(x, 0)); }), HasSubstr("eye_like: x has 1 axis, not 2"));
  EXPECT_THAT(error_of([&] { diag(range({2, 2})); }), HasSubstr("diag: x has 2 axes, not 1"));
  EXPECT_THAT(error_of([&] { eye_like(range({2})); }), HasSubstr("eye_like: x has 1 axis, not 2"));
}

DAMO_ON_EACH_DEVICE(CreateOnEachDevice);

}  // namespace
}  // namespace damo
