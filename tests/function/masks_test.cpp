// Elements by bools, in graphs and of Arrays, against loops on the host.
#include <damo/damo.hpp>

#include <cmath>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Values = std::vector<double>;

class MasksOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  Array bools(const std::vector<int>& values, const Shape& shape) const {
    const std::unique_ptr<bool[]> elements(new bool[values.size()]);
    for (std::size_t i = 0; i < values.size(); ++i) elements[i] = values[i] != 0;
    return Array::from(std::span<const bool>(elements.get(), values.size()), shape, device());
  }
  static std::vector<std::int64_t> numbers(const Array& array) { return array.to_vector<std::int64_t>(); }
};

TEST_P(MasksOnEachDevice, NonzeroGivesPositionsOfEachAxisInOrder) {
  const auto x = matrix("x"), wide = tensor3("wide", int32), v = vector("v");
  const std::vector<Variable> at = nonzero(x), in_wide = where(wide);
  const Function f = function({x, v, wide}, {at[0], at[1], flatnonzero(x), nonzero(v)[0], in_wide[0], in_wide[1], in_wide[2]}, {.device = device()});
  const float nan = std::nanf("");
  const auto check = [&](const Array& a, const Array& b, const Array& c) {
    const auto results = f.call<7>(a, b, c);
    std::vector<std::int64_t> rows, columns, all, parts[3];
    const std::vector<double> values = a.to_doubles(), cube = c.to_doubles();
    for (std::int64_t i = 0; i < a.size(); ++i) {
      if (values[i] == 0) continue;
      rows.push_back(i / a.shape()[1]), columns.push_back(i % a.shape()[1]), all.push_back(i);
    }
    for (std::int64_t i = 0; i < c.size(); ++i) {
      if (cube[i] == 0) continue;
      parts[0].push_back(i / c.shape()[2] / c.shape()[1]), parts[1].push_back(i / c.shape()[2] % c.shape()[1]), parts[2].push_back(i % c.shape()[2]);
    }
    EXPECT_EQ(numbers(results[0]), rows);
    EXPECT_EQ(numbers(results[1]), columns);
    EXPECT_EQ(numbers(results[2]), all);
    const std::vector<Array> eager = nonzero(a), eager_wide = where(c);
    EXPECT_EQ(numbers(eager[0]), rows);
    EXPECT_EQ(numbers(eager[1]), columns);
    EXPECT_EQ(numbers(flatnonzero(a)), all);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(numbers(results[4 + static_cast<std::size_t>(i)]), parts[i]);
      EXPECT_EQ(numbers(eager_wide[static_cast<std::size_t>(i)]), parts[i]);
    }
    EXPECT_EQ(numbers(results[3]), numbers(flatnonzero(b)));
  };
  const Array cube = Array::from(std::vector<std::int32_t>{0, 1, 0, 0, -2, 3, 0, 0, 0, 4, 0, 5}, {2, 3, 2}, device());
  check(array({1, 0, nan, 0, 0, -2}, {2, 3}), array({0, 1}), cube);
  check(array({1, 0, 0, 5, 0, 7}, {3, 2}).transpose(), array({3, 1}), cube.slice({{}, {{}, {}, -1}}));
  check(Array::zeros({4, 5}, float32, device()), array({0, 0}), Array::zeros({2, 0, 3}, int32, device()));
  check(Array::ones({300, 7}, float32, device()), array({1, 1}), Array::ones({2, 3, 2}, int32, device()));
}

TEST_P(MasksOnEachDevice, SubtensorTakesTheRowsThatAreTrue) {
  const auto x = matrix("x"), flat = matrix("flat", bool_), m = vector("m", bool_);
  const Function f = function({x, flat, m}, {subtensor(x, flat) * 2.0, subtensor(x, m)}, {.device = device()});
  const auto run = [&](const Array& values, const Array& of_elements, const Array& of_rows) {
    const auto results = f.call<2>(values, of_elements, of_rows);
    EXPECT_EQ((subtensor(values, of_elements) * 2).to_vector<float>(), results[0].to_vector<float>());
    EXPECT_EQ(subtensor(values, of_rows).to_vector<float>(), results[1].to_vector<float>());
    EXPECT_EQ(subtensor(values, of_rows).shape(), results[1].shape());
    return results;
  };
  const auto some = run(range({3, 2}), bools({1, 0, 0, 1, 1, 1}, {3, 2}), bools({0, 1, 1}, {3}));
  EXPECT_THAT(some[0].to_vector<float>(), ElementsAre(0, 6, 8, 10));
  EXPECT_THAT(some[1].to_vector<float>(), ElementsAre(2, 3, 4, 5));
  EXPECT_EQ(some[1].shape(), (Shape{2, 2}));
  const auto none = run(range({2, 3}), bools({0, 0, 0, 0, 0, 0}, {2, 3}), bools({0, 0}, {2}));
  EXPECT_THAT(none[0].to_vector<float>(), IsEmpty());
  EXPECT_EQ(none[1].shape(), (Shape{0, 3}));
  for (const DType dtype : {bool_, int8, float16, float64}) {
    const auto typed = vector("typed", dtype);
    const Array values = astype(range({3}), dtype);
    EXPECT_EQ(Array(function({typed, m}, {subtensor(typed, m)}, {.device = device()})(values, bools({1, 0, 1}, {3}))).to_doubles(), subtensor(values, bools({1, 0, 1}, {3})).to_doubles()) << name(dtype);
  }
}

TEST_P(MasksOnEachDevice, SetAndIncWriteWhereTheMaskIsTrue) {
  const auto x = matrix("x"), y = matrix("y"), row = vector("row"), some = vector("some");
  const auto m = vector("m", bool_), each = matrix("each", bool_);
  const Function f = function({x, y, row, some, m, each}, {set_subtensor(x, each, 0.0), inc_subtensor(x, m, row), set_subtensor(x, m, y), inc_subtensor(x, m, y), inc_subtensor(x, each, some)}, {.device = device()});
  const Array a = range({3, 2}), rows = array({10, 20, 30, 40}, {2, 2}), one = array({100, 200}), three = array({7, 8, 9});
  const Array of_rows = bools({1, 0, 1}, {3}), of_elements = bools({0, 1, 0, 0, 1, 1}, {3, 2});
  const auto results = f.call<5>(a, rows, one, three, of_rows, of_elements);
  EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(0, 0, 2, 3, 0, 0));
  EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(100, 201, 2, 3, 104, 205));
  EXPECT_THAT(results[2].to_vector<float>(), ElementsAre(10, 20, 2, 3, 30, 40));
  EXPECT_THAT(results[3].to_vector<float>(), ElementsAre(10, 21, 2, 3, 34, 45));
  EXPECT_THAT(results[4].to_vector<float>(), ElementsAre(0, 8, 2, 3, 12, 14));
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(0, 1, 2, 3, 4, 5)) << "the input stays";
  const Array eager[] = {set_subtensor(a, of_elements, 0.0), inc_subtensor(a, of_rows, one), set_subtensor(a, of_rows, rows), inc_subtensor(a, of_rows, rows), inc_subtensor(a, of_elements, three)};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(eager[i].to_vector<float>(), results[i].to_vector<float>()) << i;
  const auto nothing = f.call<5>(a, Array::zeros({0, 2}, float32, device()), one, Array::zeros({0}, float32, device()), bools({0, 0, 0}, {3}), bools({0, 0, 0, 0, 0, 0}, {3, 2}));
  for (const Array& result : nothing) EXPECT_EQ(result.to_vector<float>(), a.to_vector<float>());
  EXPECT_EQ(function({x, each}, {set_subtensor(x * 2.0, each, 0.0)}, {.device = device()}).graph().node_count(), 1) << "a number fuses";
}

TEST_P(MasksOnEachDevice, GradientsGoWhereTheElementsCameFrom) {
  const auto x = matrix("x"), y = vector("y"), each = matrix("each", bool_);
  const Variable cost = sum(sqr(subtensor(x, each)) * y) + sum(sqr(set_subtensor(x, each, y)) * 3.0) + sum(sqr(inc_subtensor(x, each, y)));
  const Function f = function({x, y, each}, {grad(cost, x), grad(cost, y), grad(sum(grad(cost, x) * x), y)}, {.device = device()});
  const auto results = f.call<3>(array({1, 2, 3, 4}, {2, 2}), array({10, 20}), bools({0, 1, 1, 0}, {2, 2}));
  // Where true: d/dx = 2 x y + 2 (x + y), elsewhere 6 x + 2 x; d/dy = x^2 + 6 y + 2 (x + y); then d/dy of sum(x d/dx) = 2 x^2 + 2 x.
  EXPECT_THAT(results[0].to_vector<float>(), ElementsAre(8, 40 + 24, 120 + 46, 32));
  EXPECT_THAT(results[1].to_vector<float>(), ElementsAre(4 + 60 + 24, 9 + 120 + 46));
  EXPECT_THAT(results[2].to_vector<float>(), ElementsAre(12, 24));
}

/// Neither a mask nor x nor y's axes stretch x, whichever of them is known to be 1 when the graph is built.
TEST_P(MasksOnEachDevice, StretchNothingButWhatIsWritten) {
  const Options options{.device = device()};
  const Variable x = matrix("x"), row = input({float32, {1, 4}}, "row"), column = input({float32, {2, 1}}, "column");
  const Variable m = vector("m", bool_), one = input({bool_, {1}}, "one"), v = vector("v");
  const Function known_mask = function({x, one}, {set_subtensor(x, one, 1.0)}, options), known_x = function({row, m}, {inc_subtensor(row, m, 1.0)}, options);
  const Function known_inner = function({column, m, v}, {set_subtensor(column, m, v)}, options);
  EXPECT_EQ(known_mask(range({1, 4}), bools({1}, {1}))[0].to_doubles(), (Values{1, 1, 1, 1}));
  EXPECT_EQ(known_x(range({1, 4}), bools({1}, {1}))[0].to_doubles(), (Values{1, 2, 3, 4}));
  EXPECT_EQ(known_inner(range({2, 1}), bools({0, 1}, {2}), range({1}))[0].to_doubles(), (Values{0, 0}));
  EXPECT_THAT(error_of([&] { known_mask(range({2, 4}), bools({1}, {1})); }), HasSubstr("(2, 4)"));
  EXPECT_THAT(error_of([&] { known_x(range({1, 4}), bools({1, 0, 1}, {3})); }), HasSubstr("(3,)"));
  EXPECT_THAT(error_of([&] { known_inner(range({2, 1}), bools({0, 1}, {2}), range({3})); }), HasSubstr("(3,)"));
}

TEST_P(MasksOnEachDevice, SaysWhatDoesNotFit) {
  const auto x = matrix("x"), y = matrix("y"), fixed = input({float32, {2, 3}}, "fixed");
  const auto m = vector("m", bool_), each = matrix("each", bool_), n = vector("n");
  EXPECT_THAT(error_of([&] { subtensor(x, n); }), HasSubstr("subtensor: the mask is float32, not bool"));
  EXPECT_THAT(error_of([&] { subtensor(n, each); }), HasSubstr("subtensor: a mask of shape (?, ?) does not fit to x of shape (?,)"));
  EXPECT_THAT(error_of([&] { set_subtensor(fixed, input({bool_, {3}}), 1.0); }), HasSubstr("set_subtensor: a mask of shape (3,) does not fit to x of shape (2, 3)"));
  EXPECT_THAT(error_of([&] { set_subtensor(cast(x, int32), m, 0.5); }), HasSubstr("set_subtensor: 0.5 would not stay what it is in x, which is int32"));
  EXPECT_THAT(error_of([&] { inc_subtensor(gt(x, 0.0), m, true); }), HasSubstr("inc_subtensor: x is bool"));
  EXPECT_THAT(error_of([&] { nonzero(scalar("s")); }), HasSubstr("nonzero: x has no axis"));
  const Function f = function({x, m}, {subtensor(x, m)}, {.device = device()}), g = function({x, y, m}, {set_subtensor(x, m, y)}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(range({3, 2}), bools({1, 1}, {2})); }), HasSubstr("subtensor: a mask of shape (2,) does not fit to x of shape (3, 2)"));
  EXPECT_THAT(error_of([&] { g(range({2, 2}), range({2, 2}), bools({1, 0}, {2})); }), HasSubstr("set_subtensor: y of shape (2, 2) does not fit to the part of x, whose shape is (1, 2)"));
  EXPECT_THAT(error_of([&] { subtensor(range({3, 2}), bools({1, 1}, {2})); }), HasSubstr("does not fit to x of shape (3, 2)"));
  EXPECT_THAT(error_of([&] { set_subtensor(range({2, 2}), bools({1, 0}, {2}), range({2, 2})); }), HasSubstr("whose shape is (1, 2)"));
  EXPECT_THAT(error_of([&] { set_subtensor(Array::zeros({2}, int32, device()), bools({1, 0}, {2}), 0.5); }), HasSubstr("0.5 would not stay what it is in x, which is int32"));
  EXPECT_THAT(error_of([&] { set_subtensor(Array::zeros({2}, uint8, device()), bools({1, 0}, {2}), 256); }), HasSubstr("set_subtensor: 256 does not fit uint8"));
  EXPECT_THAT(error_of([&] { set_subtensor(Array::zeros({2}, uint8, device()), {1}, -1); }), HasSubstr("set_subtensor: -1 does not fit uint8"));
  EXPECT_THAT(error_of([&] { pad(Array::zeros({2}, uint8, device()), {{1, 1}}, -1); }), HasSubstr("pad: -1 does not fit uint8"));
  EXPECT_THAT(error_of([&] { nonzero(Array()); }), HasSubstr("nonzero: x is an empty Array"));
}

DAMO_ON_EACH_DEVICE(MasksOnEachDevice);

}  // namespace
}  // namespace damo
