// Positions that are data: against loops on the host.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::error_of;
using Values = std::vector<double>;

class Indexing : public testing::OnEachDevice {
 protected:
  /// Whole numbers, so that sums are exact in any order.
  Array noise(const Shape& shape, DType dtype = float32, unsigned seed = 3) const {
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> uniform(-9, 9);
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (float& value : values) value = static_cast<float>(uniform(random));
    return astype(Array::from(values, shape, device()), dtype);
  }
  /// In [-extent, extent).
  std::vector<std::int64_t> positions(std::int64_t count, std::int64_t extent) const {
    std::mt19937 random(5);
    std::uniform_int_distribution<std::int64_t> uniform(-extent, extent - 1);
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    for (std::int64_t& value : values) value = uniform(random);
    return values;
  }
};

struct TakeCase {
  Shape shape;
  int axis;
  Shape of_positions;
};
const TakeCase kCases[] = {{{7, 5}, 0, {4}}, {{7, 5}, 1, {3, 2}}, {{300, 64}, 0, {1000}}, {{9}, 0, {5000}}, {{3, 70000, 2}, 1, {40}}, {{2, 3, 4}, -1, {}}, {{4, 3}, 0, {0}}, {{5, 1}, 1, {6}}};

std::int64_t product(const Shape& shape, int first, int end) {
  std::int64_t size = 1;
  for (int axis = first; axis < end; ++axis) size *= shape[axis];
  return size;
}

TEST_P(Indexing, TakesSlicesAndAddsTheirGradientsBack) {
  for (const TakeCase& c : kCases) {
    for (DType dtype : {float32, float64, bfloat16, int8, int32}) {
      const Array x = noise(c.shape, dtype);
      const int axis = normalize_axis("take", c.axis, c.shape.rank());
      const std::int64_t extent = c.shape[axis], inner = product(c.shape, axis + 1, c.shape.rank()), outer = product(c.shape, 0, axis), count = c.of_positions.size();
      const std::vector<std::int64_t> at = positions(count, extent);
      const Array p = Array::from(at, c.of_positions, device());
      const Variable vx = input({dtype, Shape::filled(x.rank(), kUnknown)}, "x"), vp = input({int64, Shape::filled(p.rank(), kUnknown)}, "p");
      const Variable taken = take(vx, vp, c.axis);
      const Array got = function({vx, vp}, {taken}, options())(x, p);
      const Values from = x.to_doubles(), to = got.to_doubles();
      ASSERT_EQ(to.size(), static_cast<std::size_t>(outer * count * inner));
      Values weights = noise(got.shape(), float32, 11).to_doubles(), expected(from.size(), 0);
      for (std::int64_t o = 0; o < outer; ++o) {
        for (std::int64_t j = 0; j < count; ++j) {
          const std::int64_t position = at[static_cast<std::size_t>(j)] < 0 ? at[static_cast<std::size_t>(j)] + extent : at[static_cast<std::size_t>(j)];
          for (std::int64_t k = 0; k < inner; ++k) {
            const auto source = static_cast<std::size_t>((o * extent + position) * inner + k), target = static_cast<std::size_t>((o * count + j) * inner + k);
            ASSERT_EQ(to[target], from[source]) << to_string(c.shape) << " axis " << c.axis;
            expected[source] += weights[target];
          }
        }
      }
      if (!is_floating(dtype)) continue;
      const Variable vw = input({dtype, Shape::filled(got.rank(), kUnknown)}, "w");
      const Function gradient = function({vx, vp, vw}, {grad(sum(taken * vw), {vx})[0]}, options());
      const Array w = noise(got.shape(), dtype, 11), found = gradient(x, p, w);
      ASSERT_EQ(found.shape(), x.shape());
      if (dtype != bfloat16) ASSERT_EQ(found.to_doubles(), expected) << to_string(c.shape) << " axis " << c.axis;
      ASSERT_EQ(Array(gradient(x, p, w)).to_doubles(), found.to_doubles()) << "the same bits at each call";
    }
  }
}

TEST_P(Indexing, TakesPositionsOfAnyIntegerDtypeAndOrder) {
  const Array x = range({4, 3});
  for (DType dtype : {int8, uint8, int16, uint16, int32, uint32, int64, uint64}) {
    const Variable v = matrix("x"), p = matrix("p", dtype);
    const Function f = function({v, p}, {take(v, p, 0)}, options());
    const Array at = astype(Array::from(std::vector<int>{3, 0, 1, 2}, {2, 2}, device()), dtype).transpose();
    EXPECT_EQ(Array(f(x.transpose().copy().transpose(), at)).to_vector<float>(), (std::vector<float>{9, 10, 11, 3, 4, 5, 0, 1, 2, 6, 7, 8})) << name(dtype);
  }
}

TEST_P(Indexing, TakesAlongAnAxis) {
  const Variable x = matrix("x"), p = matrix("p", int64), w = matrix("w");
  const Variable taken = take_along_axis(x, p, 1);
  const Function f = function({x, p, w}, {taken, grad(sum(taken * w), {x})[0]}, options());
  const auto [got, gradient] = f.call<2>(range({2, 3}), Array::from(std::vector<std::int64_t>{2, 2, 0, -1}, {2, 2}, device()), array({10, 20, 30, 40}, {2, 2}));
  EXPECT_EQ(got.to_vector<float>(), (std::vector<float>{2, 2, 3, 5}));
  EXPECT_EQ(gradient.to_vector<float>(), (std::vector<float>{0, 0, 30, 30, 0, 40}));
  const Function columns = function({x, p}, {take_along_axis(x, p, 0)}, options());
  EXPECT_EQ(Array(columns(range({2, 3}), Array::from(std::vector<std::int64_t>{1, 0, 1}, {1, 3}, device()))).to_vector<float>(), (std::vector<float>{3, 1, 5}));
  const Function best = function({x}, {take_along_axis(x, argmax(x, 1, keepdims), 1)}, options());
  EXPECT_EQ(Array(best(array({1, 5, 2, 9, 0, 3}, {2, 3}))).to_vector<float>(), (std::vector<float>{5, 9}));
}

struct PutAlongCase {
  Shape shape;
  int axis;
  std::int64_t count;
  Shape of_values;
};

TEST_P(Indexing, PutsAlongAnAxisAndKeepsTheLast) {
  const PutAlongCase cases[] = {{{7}, 0, 20, {20}}, {{2, 3}, 1, 2, {2, 2}}, {{5, 4}, 0, 9, {}}, {{5, 4}, -1, 9, {9}}, {{3, 1, 70, 2}, 2, 3, {3, 2}}, {{4, 300, 9}, 0, 6, {6, 300, 1}}, {{6, 5}, 1, 0, {6, 0}}, {{0, 5}, 1, 3, {0, 3}}, {{2, 1}, 1, 4, {2, 4}}};
  for (const PutAlongCase& c : cases) {
    const int rank = c.shape.rank(), axis = c.axis < 0 ? c.axis + rank : c.axis;
    Shape lines = c.shape, dims = Shape::filled(rank, kUnknown), of_values = c.of_values;
    lines[axis] = c.count;
    for (std::int64_t& extent : of_values) extent = extent == 1 ? 1 : kUnknown;
    const std::int64_t extent = c.shape[axis];
    const std::vector<std::int64_t> at = positions(lines.size(), extent);
    const Array x = range(c.shape), where = Array::from(at, lines, device()), values = range(c.of_values, 1000);
    std::vector<double> want = x.to_doubles();
    const std::vector<double> given = values.broadcast_to(lines).to_doubles();
    std::int64_t inner = 1;
    for (int behind = axis + 1; behind < rank; ++behind) inner *= c.shape[behind];
    for (std::size_t i = 0; i < at.size(); ++i) {
      const auto place = static_cast<std::int64_t>(i), outer = place / (c.count * inner);
      want[static_cast<std::size_t>((outer * extent + (at[i] + extent) % extent) * inner + place % inner)] = given[i];
    }
    for (DType dtype : {float32, float16, int64, bool_}) {
      const Variable v = input({dtype, dims}), p = input({int64, dims}), y = input({dtype, of_values});
      const Function f = function({v, p, y}, {put_along_axis(v, p, y, c.axis)}, options());
      const Array typed = astype(x, dtype), given_values = astype(values, dtype);
      std::vector<double> expected = astype(Array::from(want, c.shape, device()), dtype).to_doubles();
      for (int call = 0; call < 3; ++call) EXPECT_EQ(Array(f(typed, where, given_values)).to_doubles(), expected) << to_string(c.shape) << " " << name(dtype);
      EXPECT_EQ(put_along_axis(typed, where, given_values, c.axis).to_doubles(), expected) << "of Arrays";
      EXPECT_EQ(typed.to_doubles(), astype(range(c.shape), dtype).to_doubles()) << "x stays";
    }
  }
}

TEST_P(Indexing, PutsAlongAxesOfArraysThatLieInAnyWay) {
  const Array x = range({3, 4}).transpose(), at = Array::from(std::vector<std::int8_t>{0, 1, -1, 2, 0, 1, 2, 0}, {2, 4}, device()).transpose(), values = range({8}, 10).slice({{std::nullopt, std::nullopt, -4}}).reshape({2});
  const std::vector<float> want = {13, 4, 8, 1, 13, 9, 2, 6, 13, 13, 7, 17};
  const Variable v = matrix("x"), p = matrix("p", int8), y = vector("y");
  EXPECT_EQ(Array(function({v, p, y}, {put_along_axis(v, p, y, 1)}, options())(x, at, values)).to_vector<float>(), put_along_axis(x, at, values, 1).to_vector<float>());
  EXPECT_EQ(put_along_axis(x, at, values, 1).to_vector<float>(), want);
}

TEST_P(Indexing, WhatStaysOfPutAlongAnAxisHasAGradient) {
  const Variable x = matrix("x"), p = matrix("p", int64), y = matrix("y"), w = matrix("w");
  const Variable z = sum(put_along_axis(x, p, y, 1) * w);
  const Results r = function({x, p, y, w}, {grad(z, x), grad(z, y)}, {.device = device(), .allow_unused_inputs = true})(
      range({2, 3}), Array::from(std::vector<std::int64_t>{2, 2, 0, -1}, {2, 2}, device()), array({10, 20, 30, 40}, {2, 2}), array({1, 2, 3, 4, 5, 6}, {2, 3}));
  EXPECT_EQ(Array(r[0]).to_vector<float>(), (std::vector<float>{1, 2, 0, 0, 5, 0}));
  EXPECT_EQ(Array(r[1]).to_vector<float>(), (std::vector<float>{0, 3, 4, 6})) << "the first was written over";
}

TEST_P(Indexing, PutAlongAnAxisTellsOfPositionsThatAreNotThere) {
  const Variable x = matrix("x"), p = matrix("p", int64);
  const Function f = function({x, p}, {put_along_axis(x, p, 1.0, 1)}, options());
  const auto at = [&](std::int64_t position) { return Array::from(std::vector<std::int64_t>{0, position}, {2, 1}, device()); };
  const auto tells = [&](auto work) {
    return error_of<IndexError>([&] {
      work();
      device().synchronize();
    });
  };
  for (const std::int64_t position : {3, -4}) {
    const std::string text = "put_along_axis: position " + std::to_string(position) + " is not on axis 1, whose extent is 3";
    EXPECT_THAT(tells([&] { f(range({2, 3}), at(position)); }), HasSubstr(text));
    EXPECT_THAT(tells([&] { put_along_axis(range({2, 3}), at(position), 1.0, 1); }), HasSubstr(text));
  }
  EXPECT_THAT(error_of<ShapeError>([&] { f(range({3, 3}), at(0)); }), HasSubstr("put_along_axis: positions of shape (2, 1) do not fit to x of shape (3, 3) along axis 1"));
  EXPECT_THAT(error_of<ShapeError>([&] { f(range({2, 0}), at(0)); }), HasSubstr("axis 1, which has no elements"));
  EXPECT_THAT(error_of<TypeError>([&] { put_along_axis(matrix("k", int32), p, 1.5, 1); }), HasSubstr("put_along_axis"));
}

TEST_P(Indexing, MarksAPosition) {
  const Variable p = vector("p", int32);
  const Function f = function({p}, {one_hot(p, 3)}, options());
  EXPECT_EQ(Array(f(Array::from(std::vector<int>{2, 0, 7}, {3}, device()))).to_vector<float>(), (std::vector<float>{0, 0, 1, 1, 0, 0, 0, 0, 0}));
}

TEST_P(Indexing, TakesElementsInCOrderWithoutAnAxis) {
  const Variable v = tensor3("x"), p = matrix("p", int64);
  const Variable taken = take(v, p);
  const Array x = range({3, 2, 4}).transpose(), at = Array::from(std::vector<std::int64_t>{5, -1, 0, 5}, {2, 2}, device());
  const Results r = function({v, p}, {taken, grad(sum(taken), v)}, options())(x, at);
  EXPECT_EQ(Array(r[0]).to_vector<float>(), (std::vector<float>{20, 23, 0, 20}));
  EXPECT_EQ(Array(r[0]).to_doubles(), take(x, at).to_doubles()) << "as of Arrays";
  std::vector<float> counts(24, 0.0f);
  counts[0] = counts[23] = 1, counts[5] = 2;
  EXPECT_EQ(Array(r[1]).to_vector<float>(), counts);
  const Variable s = scalar("s");
  EXPECT_EQ(Array(function({s, p}, {take(s, p)}, options())(Array::full(Shape{}, 3.0f, float32, device()), Array::zeros({1, 2}, int64, device()))).to_vector<float>(), (std::vector<float>{3, 3}));
}

TEST_P(Indexing, PutsValuesAtPlacesInCOrder) {
  const Variable v = matrix("x"), p = matrix("p", int64), w = matrix("w"), n = vector("n", int32);
  const Array x = range({2, 3}), at = Array::from(std::vector<std::int64_t>{4, 0, -1, 4}, {2, 2}, device()), values = array({10, 20, 30, 40}, {2, 2});
  const Variable written = put(v, p, w);
  const Results r = function({v, p, w}, {written, grad(sum(sqr(written)), v), grad(sum(sqr(written)), w)}, options())(x, at, values);
  EXPECT_EQ(Array(r[0]).to_vector<float>(), (std::vector<float>{20, 1, 2, 3, 40, 30}));
  EXPECT_EQ(Array(r[1]).to_vector<float>(), (std::vector<float>{0, 2, 4, 6, 0, 0})) << "what was written over has no gradient";
  EXPECT_EQ(Array(r[2]).to_vector<float>(), (std::vector<float>{0, 40, 60, 80})) << "nor has a value that a later one was written over";
  const Array array = x.copy();
  put(array, at, values);
  EXPECT_EQ(array.to_doubles(), Array(r[0]).to_doubles()) << "as into Arrays";
  // Numbers and rows that stretch, values of another dtype, x in another order, x of rank 0.
  const std::vector<Variable> outputs = {put(v, p, 7), put(transpose(v), p, cast(n, float64) + 0.5), put(n, zeros_like(p), 2.75), put(ravel(v), 1, 0)};
  const Function f = function({v, p, n}, outputs, options());
  const Results more = f(x, Array::from(std::vector<std::int64_t>{5, 1}, {1, 2}, device()), Array::from({3, 4}, device()).slice({{0, 2}}));
  EXPECT_EQ(Array(more[0]).to_vector<float>(), (std::vector<float>{0, 7, 2, 3, 4, 7}));
  EXPECT_EQ(Array(more[1]).to_vector<float>(), (std::vector<float>{0, 4.5, 1, 4, 2, 3.5}));
  EXPECT_EQ(Array(more[2]).to_vector<int>(), (std::vector<int>{2, 4}));
  EXPECT_EQ(Array(more[3]).to_vector<float>(), (std::vector<float>{0, 0, 2, 3, 4, 5}));
  EXPECT_EQ(Array(more[3]).shape(), (Shape{6}));
}

TEST_P(Indexing, RefusesToPutWhatDoesNotFit) {
  const Variable x = matrix("x"), p = vector("p", int64), w = vector("w");
  EXPECT_THAT(error_of([&] { put(x, w, 1); }),
              AllOf(HasSubstr("put: positions are integers"), HasSubstr("put built at"), HasSubstr("indexing_test.cpp:")));
  EXPECT_THAT(error_of([&] { put(x, p, matrix("m")); }), HasSubstr("put: y of shape (?, ?) does not fit to the part of x, whose shape is (?,)"));
  const Function f = function({x, p, w}, {put(x, p, w)}, options());
  const auto error = [&](std::vector<std::int64_t> at) {
    const Array places = Array::from(at, {static_cast<std::int64_t>(at.size())}, device());
    return error_of([&] { Array(f(range({2, 3}), places, array({1, 2}))).to_doubles(); });
  };
  EXPECT_THAT(error({0, 6}), AllOf(HasSubstr("put: position 6 is not on axis 0, whose extent is 6"), HasSubstr("indexing_test.cpp:")));
  EXPECT_THAT(error({0, 1, 2}), HasSubstr("put: y of shape (2,) does not fit to the part of x, whose shape is (3,)"));
  EXPECT_EQ(error({-6, 5}), "nothing thrown");
}

TEST_P(Indexing, HasAGradientOfTheGradient) {
  const Variable x = vector("x"), p = vector("p", int64);
  const Variable cost = sum(pow(take(x, p), 3.0)), first = grad(cost, {x})[0];
  const Function f = function({x, p}, {grad(sum(first * first), {x})[0]}, options());
  // first = 3 n x^2 where x was taken n times; the gradient of its square's sum is 36 n^2 x^3.
  EXPECT_EQ(Array(f(array({1, 2, 3}), Array::from(std::vector<std::int64_t>{1, 1, 2}, {3}, device()))).to_vector<float>(), (std::vector<float>{0, 36 * 4 * 8, 36 * 27}));
}

TEST_P(Indexing, ReportsPositionsThatAreNotOnTheAxis) {
  const Variable x = matrix("x"), p = vector("p", int64);
  const Function f = function({x, p}, {take(x, p, 1)}, options());
  const auto error = [&](std::vector<std::int64_t> at) {
    const Array positions = Array::from(at, {static_cast<std::int64_t>(at.size())}, device());
    return error_of([&] { Array(f(range({2, 3}), positions)).to_doubles(); });
  };
  EXPECT_THAT(error({0, 3}), HasSubstr("take: position 3 is not on axis 1, whose extent is 3"));
  EXPECT_THAT(error({0, 3}), HasSubstr("take built at"));
  EXPECT_THAT(error({0, 3}), HasSubstr("indexing_test.cpp:"));
  EXPECT_THAT(error({0, 3}), HasSubstr("give positions from -3 to 2"));
  EXPECT_THAT(error({-4}), HasSubstr("position -4 is not on axis 1"));
  EXPECT_EQ(error({-3, 2}), "nothing thrown") << "the call after an error is right";
  EXPECT_THAT(error_of([&] { f(Array::empty({2, 0}, float32, device()), Array::from(std::vector<std::int64_t>{0}, {1}, device())); }), HasSubstr("there is nothing to take from axis 1, which has no elements"));
}

TEST_P(Indexing, UnsignedPositionsDoNotCountFromTheEnd) {
  const Variable x = vector("x"), p = vector("p", uint64);
  const Array three = range({3}), last = Array::from(std::vector<std::uint64_t>{~std::uint64_t{0}}, {1}, device()), second = Array::from(std::vector<std::uint64_t>{1}, {1}, device());
  for (const Variable& result : {take(x, p), subtensor(x, {p}), put(x, p, 5.0), take_along_axis(x, p, 0), choose(p, {subtensor(x, {{0, 1}}), subtensor(x, {{1, 2}})})}) {
    const Function f = function({x, p}, {result}, options());
    EXPECT_THAT(error_of([&] { Array(f(three, last)).to_doubles(); device().synchronize(); }), HasSubstr("position 18446744073709551615 is not on axis 0"));
    EXPECT_EQ(error_of([&] { Array(f(three, second)).to_doubles(); }), "nothing thrown");
  }
  EXPECT_THAT(error_of([&] { take(three, last).to_doubles(); device().synchronize(); }), HasSubstr("is not on axis 0"));
}

TEST_P(Indexing, ReportsThemThoughTheFunctionIsGone) {
  Array result;
  const auto run = [&] {
    const Variable x = vector("x"), p = vector("p", int64);
    result = function({x, p}, {take(x, p)}, options())(range({3}), Array::from(std::vector<std::int64_t>{5}, {1}, device()));
  };
  EXPECT_THAT(error_of([&] {
                run();
                device().synchronize();
              }),
              HasSubstr("position 5 is not on axis 0"));
  EXPECT_EQ(error_of([&] { device().synchronize(); }), "nothing thrown");
}

TEST_P(Indexing, NamesWhatDoesNotFit) {
  const Variable x = matrix("x");
  EXPECT_THAT(error_of([&] { take(x, vector("p")); }), HasSubstr("take: positions are integers, these are p float32 (?,)"));
  EXPECT_THAT(error_of([&] { take(scalar("s"), vector("p", int64), 0); }), HasSubstr("take: x has no axis"));
  EXPECT_THAT(error_of([&] { take(x, vector("p", int64), 2); }), HasSubstr("axis 2 does not exist"));
  EXPECT_THAT(error_of([&] { take_along_axis(x, vector("p", int64), 1); }), HasSubstr("do not fit to x of shape (?, ?) along axis 1"));
  EXPECT_THAT(error_of([&] { one_hot(x, 3); }), HasSubstr("one_hot: positions are integers"));
}
DAMO_ON_EACH_DEVICE(Indexing);

}  // namespace
}  // namespace damo
