// Ops on shapes and parts, which select elements: an op of an array of positions says which element of x lies where. What the op
// gives of other values, and its gradient, follow from that.
#include <algorithm>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;

struct Selection {
  const char* name;
  Shape shape;                                     ///< of x
  std::function<Variable(const Variable&)> graph;
  Shape expected_shape;
  std::vector<int> positions;                      ///< elements of x in C order; -1: another value
};

/// NumPy: op(numpy.arange(size).reshape(shape)).
const std::vector<Selection>& selections() {
  static const std::vector<Selection> all{
      {"squeeze", {2, 1, 3}, [](const Variable& x) { return squeeze(x, 1); }, {2, 3}, {0, 1, 2, 3, 4, 5}},
      {"swap_axes", {2, 1, 3}, [](const Variable& x) { return swap_axes(x, 0, -1); }, {3, 1, 2}, {0, 3, 1, 4, 2, 5}},
      {"flip", {2, 3}, [](const Variable& x) { return flip(x); }, {2, 3}, {5, 4, 3, 2, 1, 0}},
      {"flip_rows", {2, 3}, [](const Variable& x) { return flip(x, 0); }, {2, 3}, {3, 4, 5, 0, 1, 2}},
      {"reshape", {2, 6}, [](const Variable& x) { return reshape(x, {3, -1}); }, {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}},
      {"reshape_turned", {2, 3}, [](const Variable& x) { return reshape(transpose(x), {2, 3}); }, {2, 3}, {0, 3, 1, 4, 2, 5}},
      {"flatten", {2, 2, 2}, [](const Variable& x) { return flatten(x); }, {8}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"ravel", {2, 2, 2}, [](const Variable& x) { return ravel(x); }, {8}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"flatten_inner", {2, 2, 2}, [](const Variable& x) { return flatten(x, 1); }, {2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}},
      {"broadcast_to", {2, 1}, [](const Variable& x) { return broadcast_to(x, {2, -1, 3}); }, {2, 2, 3}, {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}},
      {"roll", {2, 3}, [](const Variable& x) { return roll(x, 1, 1); }, {2, 3}, {2, 0, 1, 5, 3, 4}},
      {"roll_far_back", {5}, [](const Variable& x) { return roll(x, -7, 0); }, {5}, {2, 3, 4, 0, 1}},
      {"tile", {1, 2}, [](const Variable& x) { return tile(x, {2, 2, 2}); }, {2, 2, 4}, {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}},
      {"tile_short", {2, 2}, [](const Variable& x) { return tile(x, {2}); }, {2, 4}, {0, 1, 0, 1, 2, 3, 2, 3}},
      {"repeat", {2, 2}, [](const Variable& x) { return repeat(x, 2, 0); }, {4, 2}, {0, 1, 0, 1, 2, 3, 2, 3}},
      {"repeat_inner", {2, 2}, [](const Variable& x) { return repeat(x, 3, -1); }, {2, 6}, {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3}},
      {"pad", {2, 2}, [](const Variable& x) { return pad(x, {{1, 0}, {0, 2}}, -1); }, {3, 4}, {-1, -1, -1, -1, 0, 1, -1, -1, 2, 3, -1, -1}},
      {"position", {2, 3}, [](const Variable& x) { return subtensor(x, {-1}); }, {3}, {3, 4, 5}},
      {"slices", {3, 4}, [](const Variable& x) { return subtensor(x, {{1, 3}, {0, 4, 2}}); }, {2, 2}, {4, 6, 8, 10}},
      {"back", {5}, [](const Variable& x) { return subtensor(x, {{std::nullopt, std::nullopt, -2}}); }, {3}, {4, 2, 0}},
      {"clipped", {5}, [](const Variable& x) { return subtensor(x, {{3, 100}}); }, {2}, {3, 4}},
      {"nothing", {5}, [](const Variable& x) { return subtensor(x, {{4, 2}}); }, {0}, {}},
      {"inner_position", {2, 3, 2}, [](const Variable& x) { return subtensor(x, {{}, 1}); }, {2, 2}, {2, 3, 8, 9}},
      {"set", {5}, [](const Variable& x) { return set_subtensor(x, {{1, 3}}, -1); }, {5}, {0, -1, -1, 3, 4}},
      {"set_column", {2, 3}, [](const Variable& x) { return set_subtensor(x, {{}, -1}, -1); }, {2, 3}, {0, 1, -1, 3, 4, -1}},
      {"set_by_itself", {6}, [](const Variable& x) { return set_subtensor(x, {{0, 4}}, subtensor(x, {{2, 6}})); }, {6}, {2, 3, 4, 5, 4, 5}},
      {"set_backwards", {4}, [](const Variable& x) { return set_subtensor(x * 1.0, {{}}, flip(x * 1.0)); }, {4}, {3, 2, 1, 0}},
      {"split", {5, 2}, [](const Variable& x) { return split(x, {2, 3})[1]; }, {3, 2}, {4, 5, 6, 7, 8, 9}},
      {"concatenate", {2, 2}, [](const Variable& x) { return concatenate({x, flip(x)}, 1); }, {2, 4}, {0, 1, 3, 2, 2, 3, 1, 0}},
      {"concatenate_rows", {2, 2}, [](const Variable& x) { return concatenate({subtensor(x, {{1, 2}}), x}); }, {3, 2}, {2, 3, 0, 1, 2, 3}},
      {"stack", {3}, [](const Variable& x) { return stack({x, flip(x)}, -1); }, {3, 2}, {0, 2, 1, 1, 2, 0}},
      {"parts_of_parts", {4, 2}, [](const Variable& x) { return concatenate({subtensor(x, {{3, 4}}), set_subtensor(subtensor(x, {{0, 2}}), {0}, -1)}); }, {3, 2}, {6, 7, -1, -1, 2, 3}},
  };
  return all;
}

class ShapeOps : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, DType dtype = float32) const {
    std::mt19937 random(7);
    std::uniform_int_distribution<int> uniform(-40, 40);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = static_cast<float>(uniform(random));
    return astype(Array::from(values, shape, device()), dtype);
  }
};

TEST_P(ShapeOps, SplitComparesTheSizesWithAnExtentThatShowsAtTheCall) {
  const Variable v = vector("v"), x = matrix("x");
  const auto parts = split(v, {2, 3});
  const Function f = function({v}, {parts[0] * 2.0, parts[1]}, options());
  EXPECT_EQ(f(noise({5}))[1].shape(), (Shape{3}));
  const Function slope = function({v}, {grad(sum(sqr(parts[1])), v)}, options());
  EXPECT_EQ(Array(slope(Array::from({1.0f, 2.0f, 3.0f, 4.0f, 5.0f}, device()))).to_doubles(), (std::vector<double>{0, 0, 6, 8, 10}));
  EXPECT_THAT(error_of<ShapeError>([&] { f(noise({6})); }), ::testing::AllOf(HasSubstr("split: the parts have 5 elements along axis 0, x has 6"), HasSubstr("shape_test.cpp:")));
  EXPECT_THAT(error_of<ShapeError>([&] { function({x}, {exp(split(x + 1.0, {1, 1}, 1)[0])}, options())(noise({2, 3})); }), HasSubstr("split: the parts have 2 elements along axis 1, x has 3"));
}

TEST_P(ShapeOps, SpecifyShapePutsExtentsIntoTheTypeAndComparesThemAtTheCall) {
  const Variable x = matrix("x"), y = matrix("y"), column = specify_shape(y, {kUnknown, 1});
  EXPECT_EQ(column.dims(), (Shape{kUnknown, 1}));
  EXPECT_TRUE(specify_shape(column, {kUnknown, kUnknown}).is_same(column));
  const Function f = function({x, y}, {x * column, grad(sum(sqr(x * column)), y)}, options());
  const Array a = noise({2, 3}), b = noise({2, 1});
  const auto [product, gradient] = f.call<2>(a, b);
  EXPECT_EQ(product.to_doubles(), (a * b).to_doubles());
  EXPECT_EQ(gradient.to_doubles(), (2.0 * b * sum(sqr(a), 1, true)).to_doubles());
  EXPECT_THAT(error_of<ShapeError>([&] { f(a, noise({2, 3})); }), HasSubstr("specify_shape: (2, 3) is not the (?, 1) that was declared"));
  EXPECT_THAT(error_of<ShapeError>([&] { specify_shape(column, {kUnknown, 2}); }), HasSubstr("(?, 1) is not the (?, 2) that was declared"));
}

TEST_P(ShapeOps, AConstantOfAnArrayHasItsElementsOfThatMoment) {
  Array a = noise({3, 4}, int16), b = noise({4, 3});
  const Variable x = vector("x"), turned = constant(flip(a).transpose(), "turned");
  EXPECT_EQ(turned.type().dims, (Shape{4, 3}));
  EXPECT_EQ(turned.dtype(), int16);
  const std::vector<double> want = (Array::ones({3}, float32, device()) * flip(a).transpose()).to_doubles();
  const Function f = function({x}, {x * turned, constant(Array::zeros({0, 2}, float64, device()))}, options());
  a += 1;
  const auto [product, nothing] = f.call<2>(Array::ones({3}, float32, device()));
  EXPECT_EQ(product.to_doubles(), want);
  EXPECT_EQ(nothing.shape(), (Shape{0, 2}));
  EXPECT_EQ(nothing.dtype(), float64);
}

TEST_P(ShapeOps, SelectTheElementsThatNumPySelects) {
  for (const Selection& selection : selections()) {
    for (bool is_known : {true, false}) {
      for (DType dtype : {float32, float64, int32, int8, bfloat16}) {
        Shape dims = is_known ? selection.shape : Shape::filled(selection.shape.rank(), kUnknown);
        for (int axis = 0; axis < dims.rank(); ++axis) {
          if (selection.shape[axis] == 1) dims[axis] = 1;  // squeeze and broadcasting ask for it
        }
        const Variable x = input({dtype, dims}, "x");
        const Function f = function({x}, {selection.graph(x)}, options());
        for (bool turned : {false, true}) {
          Array values = noise(selection.shape, dtype);
          if (turned) values = noise({selection.shape.rank() == 2 ? Shape{selection.shape[1], selection.shape[0]} : selection.shape}, dtype);
          if (turned && selection.shape.rank() == 2) values = values.transpose();
          const Array got = f(values);
          ASSERT_EQ(got.shape(), selection.expected_shape) << selection.name;
          const Values from = values.to_doubles(), to = got.to_doubles();
          for (std::size_t i = 0; i < to.size(); ++i) {
            const int position = selection.positions[i];
            ASSERT_EQ(to[i], position < 0 ? -1 : from[static_cast<std::size_t>(position)]) << selection.name << " of " << damo::name(dtype) << " element " << i;
          }
        }
      }
    }
  }
}

TEST_P(ShapeOps, BringGradientsBackToTheElementsTheyCameFrom) {
  for (const Selection& selection : selections()) {
    for (bool is_known : {true, false}) {
      Shape dims = is_known ? selection.shape : Shape::filled(selection.shape.rank(), kUnknown);
      for (int axis = 0; axis < dims.rank(); ++axis) {
        if (selection.shape[axis] == 1) dims[axis] = 1;
      }
      const Variable x = input({float32, dims}, "x"), w = input({float32, Shape::filled(selection.expected_shape.rank(), kUnknown)}, "w");
      // The square makes the gradient of a wrong element another number.
      const Variable y = selection.graph(x), cost = sum(y * y * w);
      const Function f = function({x, w}, {grad(cost, {x})[0]}, options());
      const Array values = noise(selection.shape), weights = noise(selection.expected_shape) + 0.5;
      const Values from = values.to_doubles(), by = weights.to_doubles();
      Values expected(from.size(), 0);
      for (std::size_t i = 0; i < by.size(); ++i) {
        if (selection.positions[i] < 0) continue;
        const auto position = static_cast<std::size_t>(selection.positions[i]);
        expected[position] += 2 * from[position] * by[i];
      }
      const Array got = f(values, weights);
      ASSERT_EQ(got.shape(), selection.shape) << selection.name;
      EXPECT_EQ(got.to_doubles(), expected) << selection.name << (is_known ? "" : " of unknown extents");
    }
  }
}

TEST_P(ShapeOps, AddToAPart) {
  const Variable x = matrix("x"), y = vector("y");
  const Function f = function({x, y}, {inc_subtensor(x, {{1, 3}}, y), inc_subtensor(x, {{1, 3}}, 2)}, options());
  const auto [rows, numbers] = f.call<2>(range({3, 2}), array({10, 20}));
  EXPECT_EQ(rows.to_vector<float>(), (std::vector<float>{0, 1, 12, 23, 14, 25}));
  EXPECT_EQ(numbers.to_vector<float>(), (std::vector<float>{0, 1, 4, 5, 6, 7}));
  const Variable cost = sum(inc_subtensor(x, {{1, 3}}, y) * x);
  const Function g = function({x, y}, {grad(cost, {x, y})[0], grad(cost, {x, y})[1]}, options());
  const auto [of_x, of_y] = g.call<2>(range({3, 2}), array({10, 20}));
  EXPECT_EQ(of_x.to_vector<float>(), (std::vector<float>{0, 2, 14, 26, 18, 30})) << "x + (x with y added)";
  EXPECT_EQ(of_y.to_vector<float>(), (std::vector<float>{6, 8}));
}

TEST_P(ShapeOps, LeaveTheCallersArraysAsTheyAre) {
  const Variable x = vector("x");
  const Function f = function({x}, {set_subtensor(x, {{0, 2}}, 0), x + 1, flip(x)}, options());
  const Array a = range({4}, 1);
  const std::vector<Array> results = f(a);
  EXPECT_EQ(results[0].to_vector<float>(), (std::vector<float>{0, 0, 3, 4}));
  EXPECT_EQ(results[1].to_vector<float>(), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(results[2].to_vector<float>(), (std::vector<float>{4, 3, 2, 1}));
  EXPECT_EQ(a.to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
}

TEST_P(ShapeOps, TakeAxesWithoutElements) {
  const Variable x = matrix("x");
  const Function f = function({x}, {concatenate({x, x}), roll(x, 3, 0), pad(x, {{1, 1}, {}}), flatten(x), reshape(x, {0, 7}), set_subtensor(x, {{0, 2}}, 1)}, options());
  const std::vector<Array> results = f(Array::empty({0, 3}, float32, device()));
  EXPECT_EQ(results[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(results[1].shape(), (Shape{0, 3}));
  EXPECT_EQ(results[2].to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_EQ(results[3].shape(), (Shape{0}));
  EXPECT_EQ(results[4].shape(), (Shape{0, 7}));
  EXPECT_EQ(results[5].shape(), (Shape{0, 3}));
}

TEST_P(ShapeOps, FuseWithWhatReadsThem) {
  const Variable x = matrix("x");
  const Function f = function({x}, {exp(subtensor(x, {{0, 2}}) * 2.0) + flip(subtensor(x, {{1, 3}}))}, options());
  EXPECT_EQ(f.kernels().size(), 1u) << f.explain();
}

TEST_P(ShapeOps, NameWhatDoesNotFitAtTheCall) {
  const Variable x = matrix("x"), y = matrix("y");
  const auto error = [&](const Variable& result) { return error_of([&] { function({x, y}, {result}, {.device = device(), .allow_unused_inputs = true})(range({2, 3}), range({4, 3})); }); };
  EXPECT_THAT(error(reshape(x, {4, -1})), HasSubstr("6 elements are not a multiple of 4"));
  EXPECT_THAT(error(reshape(x, {4, -1})), HasSubstr("shape_test.cpp:"));
  EXPECT_THAT(error(subtensor(x, {2})), HasSubstr("position 2 is not on axis 0, whose extent is 2"));
  EXPECT_THAT(error(subtensor(x, {0, -4})), HasSubstr("position -4 is not on axis 1, whose extent is 3"));
  EXPECT_THAT(error(concatenate({x, y}, 1)), HasSubstr("(4, 3) does not fit to (2, 3) along axis 1"));
  EXPECT_THAT(error(set_subtensor(x, {{0, 2}}, y)), HasSubstr("y of shape (4, 3) does not fit to the part of x, whose shape is (2, 3)"));
  EXPECT_THAT(error(broadcast_to(x, {5, 3})), HasSubstr("broadcast_to: (2, 3) cannot become (5, 3)"));
  const Variable part = expand_dims(subtensor(y, {0}), 0);  // whose type says 1
  EXPECT_EQ(error(set_subtensor(x, {{0, 2}}, part)), "nothing thrown");
  const auto one_row = [&](const Variable& result) { return error_of([&] { function({x, y}, {result}, {.device = device(), .allow_unused_inputs = true})(range({2, 3}), range({1, 3})); }); };
  for (const bool adds : {false, true}) {  // its gradient could not tell that it was stretched
    EXPECT_THAT(one_row(adds ? inc_subtensor(x, {{0, 2}}, y) : set_subtensor(x, {{0, 2}}, y)), HasSubstr("y of shape (1, 3) does not fit to the part of x, whose shape is (2, 3)"));
  }
}
DAMO_ON_EACH_DEVICE(ShapeOps);

}  // namespace
}  // namespace damo
