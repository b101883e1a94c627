// Indices among which are tensors: src/ops/indexing/index_plan.cpp, and what follows it in graphs (index_tensors.cpp) and on Arrays
// (src/ops/eager/subtensor.cpp). Expected values are NumPy 2's, or loops on the host.
#include <damo/damo.hpp>

#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::HasSubstr;

/// What the cases index with: i, j, k are vectors, column and row stretch, m and n are masks.
template <class T>
struct Given {
  T x, i, j, k, column, row, m, n, y, z, w;
};

struct IndexCase {
  std::string name;
  std::function<Variable(const Given<Variable>&)> graph;
  std::function<Array(const Given<Array>&)> eager;
  Shape shape;
  std::vector<float> values;
};

template <class Both>
IndexCase index_case(std::string name, Both both, const Shape& shape, std::vector<float> values) {
  return {std::move(name), both, both, shape, std::move(values)};
}

class AdvancedIndexing : public damo::testing::OnEachDevice {
 protected:
  template <class T>
  Array integers(const std::vector<T>& values) const { return Array::from(values, device()); }
  Array bools(const std::vector<std::uint8_t>& values, const Shape& shape) const { return astype(Array::from(values, shape, device()), bool_); }

  Given<Variable> variables() const {
    return {tensor3("x"), vector("i", int32), vector("j", int64), vector("k", uint8), input({int64, {kUnknown, 1}}, "column"), vector("row", int16), matrix("m", bool_), matrix("n", bool_), matrix("y"), vector("z"), vector("w")};
  }
  Given<Array> arrays() const {
    return {range({2, 3, 4}), integers<std::int32_t>({1, 0, 1}), integers<std::int64_t>({-1, 0, -1}), integers<std::uint8_t>({3, 1, 3}), integers<std::int64_t>({1, 0}).reshape({2, 1}),
            integers<std::int16_t>({2, 0, 1}), bools({1, 0, 1, 0, 1, 1}, {2, 3}), bools({1, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0}, {3, 4}), range({3, 4}, 100), array({10, 20, 30, 40}), array({1000, 2000, 3000})};
  }
  void check(const std::vector<IndexCase>& cases) const {
    const Given<Variable> v = variables();
    const Given<Array> a = arrays();
    std::vector<Variable> outputs;
    for (const IndexCase& c : cases) outputs.push_back(c.graph(v));
    const Function f = function(std::vector{v.x, v.i, v.j, v.k, v.column, v.row, v.m, v.n, v.y, v.z, v.w}, outputs, {.device = device(), .allow_unused_inputs = true});
    for (int strided = 0; strided < 2; ++strided) {
      const Array x = strided ? a.x.transpose().copy().transpose() : a.x;
      const Results results = f.call(std::vector{x, a.i, a.j, a.k, a.column, a.row, a.m, a.n, a.y, a.z, a.w});
      Given<Array> given = a;
      given.x = x;
      for (std::size_t c = 0; c < cases.size(); ++c) {
        const Array eager = cases[c].eager(given);
        EXPECT_EQ(results[c].shape(), cases[c].shape) << cases[c].name;
        EXPECT_EQ(results[c].to_vector<float>(), cases[c].values) << cases[c].name;
        EXPECT_EQ(eager.shape(), cases[c].shape) << cases[c].name;
        EXPECT_EQ(eager.to_vector<float>(), cases[c].values) << cases[c].name;
      }
      EXPECT_EQ(x.to_vector<float>(), range({2, 3, 4}).to_vector<float>()) << "the input stays";
    }
  }
};

TEST_P(AdvancedIndexing, TakesWhatNumPyTakes) {
  const std::vector<float> pairs{20, 21, 22, 23, 0, 1, 2, 3, 20, 21, 22, 23}, apart{15, 19, 23, 1, 5, 9, 15, 19, 23};
  check({
      index_case("x[i, j]", [](const auto& g) { return subtensor(g.x, {g.i, g.j}); }, {3, 4}, pairs),
      index_case("x[i]", [](const auto& g) { return subtensor(subtensor(g.x, {g.i}), {1, 2}); }, {4}, {8, 9, 10, 11}),
      index_case("x[:, j, k]", [](const auto& g) { return subtensor(g.x, {{}, g.j, g.k}); }, {2, 3}, {11, 1, 11, 23, 13, 23}),
      index_case("x[i, :, k]", [](const auto& g) { return subtensor(g.x, {g.i, {}, g.k}); }, {3, 3}, apart),
      index_case("x[i, None, j]", [](const auto& g) { return subtensor(g.x, {g.i, new_axis, g.j}); }, {3, 1, 4}, pairs),
      index_case("x[i, ..., k]", [](const auto& g) { return subtensor(g.x, {g.i, ellipsis, g.k}); }, {3, 3}, apart),
      index_case("x[0, :, k]", [](const auto& g) { return subtensor(g.x, {0, {}, g.k}); }, {3, 3}, {3, 7, 11, 1, 5, 9, 3, 7, 11}),
      index_case("x[:, 0, k]", [](const auto& g) { return subtensor(g.x, {{}, 0, g.k}); }, {2, 3}, {3, 1, 3, 15, 13, 15}),
      index_case("x[column, row]", [](const auto& g) { return subtensor(g.x, {g.column, g.row}); }, {2, 3, 4}, {20, 21, 22, 23, 12, 13, 14, 15, 16, 17, 18, 19, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7}),
      index_case("x[1:, j, ::-2]", [](const auto& g) { return subtensor(g.x, {{1, std::nullopt}, g.j, {std::nullopt, std::nullopt, -2}}); }, {1, 3, 2}, {23, 21, 15, 13, 23, 21}),
      index_case("x[..., i, k]", [](const auto& g) { return subtensor(g.x, {ellipsis, g.i, g.k}); }, {2, 3}, {7, 1, 7, 19, 13, 19}),
      index_case("x[:, i, ..., k]", [](const auto& g) { return subtensor(g.x, {{}, g.i, ellipsis, g.k}); }, {3, 2}, {7, 19, 1, 13, 7, 19}),
      index_case("x[None, i, j, None]", [](const auto& g) { return subtensor(g.x, {new_axis, g.i, g.j, new_axis}); }, {1, 3, 1, 4}, pairs),
      index_case("x[i, j, k]", [](const auto& g) { return subtensor(g.x, {g.i, g.j, g.k}); }, {3}, {23, 1, 23}),
      index_case("x[m, 0]", [](const auto& g) { return subtensor(g.x, {g.m, 0}); }, {4}, {0, 8, 16, 20}),
      index_case("x[:, n]", [](const auto& g) { return subtensor(g.x, {{}, g.n}); }, {2, 3}, {0, 3, 6, 12, 15, 18}),
      index_case("x[i, n]", [](const auto& g) { return subtensor(g.x, {g.i, g.n}); }, {3}, {12, 3, 18}),
      index_case("x[..., None, -1]", [](const auto& g) { return subtensor(g.x, {ellipsis, new_axis, -1}); }, {2, 3, 1}, {3, 7, 11, 15, 19, 23}),
  });
}

TEST_P(AdvancedIndexing, WritesWhatNumPyWrites) {
  check({
      index_case("x[i, j] = y", [](const auto& g) { return set_subtensor(g.x, {g.i, g.j}, g.y); }, {2, 3, 4}, {104, 105, 106, 107, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 108, 109, 110, 111}),
      index_case("add.at(x, (i, j), y)", [](const auto& g) { return inc_subtensor(g.x, {g.i, g.j}, g.y); }, {2, 3, 4}, {104, 106, 108, 110, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 228, 231, 234, 237}),
      index_case("x[i, :, k] = w[:, None]", [](const auto& g) { return set_subtensor(g.x, {g.i, {}, g.k}, expand_dims(g.w, 1)); }, {2, 3, 4}, {0, 2000, 2, 3, 4, 2000, 6, 7, 8, 2000, 10, 11, 12, 13, 14, 3000, 16, 17, 18, 3000, 20, 21, 22, 3000}),
      index_case("add.at(x, (i, :, k), 7)", [](const auto& g) { return inc_subtensor(g.x, {g.i, {}, g.k}, 7); }, {2, 3, 4}, {0, 8, 2, 3, 4, 12, 6, 7, 8, 16, 10, 11, 12, 13, 14, 29, 16, 17, 18, 33, 20, 21, 22, 37}),
      index_case("x[1:, j, ::-2] = w[:, None]", [](const auto& g) { return set_subtensor(g.x, {{1, std::nullopt}, g.j, {std::nullopt, std::nullopt, -2}}, expand_dims(g.w, 1)); }, {2, 3, 4},
                 {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 2000, 14, 2000, 16, 17, 18, 19, 20, 3000, 22, 3000}),
      index_case("add.at(x, (m, 0), z)", [](const auto& g) { return inc_subtensor(g.x, {g.m, 0}, g.z); }, {2, 3, 4}, {10, 1, 2, 3, 4, 5, 6, 7, 28, 9, 10, 11, 12, 13, 14, 15, 46, 17, 18, 19, 60, 21, 22, 23}),
      index_case("x[i] = 5", [](const auto& g) { return subtensor(set_subtensor(g.x, {g.i}, 5), {{}, 2}); }, {2, 4}, {5, 5, 5, 5, 5, 5, 5, 5}),
      index_case("x[:, None, 1] = z", [](const auto& g) { return set_subtensor(g.x, {{}, new_axis, 1}, g.z); }, {2, 3, 4}, {0, 1, 2, 3, 10, 20, 30, 40, 8, 9, 10, 11, 12, 13, 14, 15, 10, 20, 30, 40, 20, 21, 22, 23}),
  });
}

/// Random places of which many are equal.
std::vector<std::int64_t> random_places(std::size_t count, std::int64_t extent, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> places(count);
  for (std::int64_t& place : places) place = static_cast<std::int64_t>(random() % static_cast<unsigned>(extent));
  return places;
}

TEST_P(AdvancedIndexing, WritesRepeatedPlacesInTheirOrder) {
  constexpr std::int64_t kRows = 17, kColumns = 23;
  constexpr std::size_t kCount = 6000;
  const std::vector<std::int64_t> rows = random_places(kCount, kRows, 1), columns = random_places(kCount, kColumns, 2);
  std::mt19937 random(3);
  std::vector<float> values(kCount), set(static_cast<std::size_t>(kRows * kColumns), 1.0f), sums = set;
  for (float& value : values) value = std::ldexp(static_cast<float>(random() % 2000) - 1000.0f, static_cast<int>(random() % 40) - 20);
  for (std::size_t p = 0; p < kCount; ++p) {
    const auto at = static_cast<std::size_t>(rows[p] * kColumns + columns[p]);
    set[at] = values[p];
    sums[at] += values[p];  // rounds at each addition, as a kernel that adds in this order
  }
  const Variable x = matrix("x"), i = vector("i", int64), j = vector("j", int64), y = vector("y");
  const Function f = function({x, i, j, y}, {set_subtensor(x, {i, j}, y), inc_subtensor(x, {i, j}, y)}, {.device = device()});
  const Array ones = Array::ones({kRows, kColumns}, float32, device()), at_rows = Array::from(rows, device()), at_columns = Array::from(columns, device()), given = Array::from(values, device());
  for (int call = 0; call < 3; ++call) {
    const auto results = f.call<2>(ones, at_rows, at_columns, given);
    EXPECT_EQ(results[0].to_vector<float>(), set);
    EXPECT_EQ(results[1].to_vector<float>(), sums);
  }
  EXPECT_EQ(set_subtensor(ones, {at_rows, at_columns}, given).to_vector<float>(), set);
  EXPECT_EQ(inc_subtensor(ones, {at_rows, at_columns}, given).to_vector<float>(), sums);
}

TEST_P(AdvancedIndexing, WritesAnyDtypeAndSumsHalvesInFloat32) {
  const Array at = Array::zeros({4096}, int32, device()), places = integers<std::int32_t>({1, 1, -1});
  for (const DType dtype : {float16, bfloat16}) {
    // 16 bits would stay at 2048 or 256.
    EXPECT_EQ(inc_subtensor(Array::zeros({2}, dtype, device()), {at}, 1).to_doubles(), (std::vector<double>{4096, 0})) << name(dtype);
  }
  for (const DType dtype : {int8, uint8, int16, uint32, int64, float64}) {
    const Variable x = vector("x", dtype), i = vector("i", int32), y = vector("y", dtype);
    const auto [set, sum] = function({x, i, y}, {set_subtensor(x, {i}, y), inc_subtensor(x, {i}, y)}, {.device = device()}).call<2>(astype(range({3}), dtype), places, astype(array({100, 20, 3}), dtype));
    EXPECT_EQ(set.to_doubles(), (std::vector<double>{0, 20, 3})) << name(dtype);
    EXPECT_EQ(sum.to_doubles(), (std::vector<double>{0, 121, 5})) << name(dtype);
  }
  EXPECT_EQ(set_subtensor(bools({0, 0, 0}, {3}), {places}, true).to_doubles(), (std::vector<double>{0, 1, 1}));
}

TEST_P(AdvancedIndexing, TakesNothingFromNothing) {
  const Variable x = matrix("x"), i = vector("i", int64), j = vector("j", int64);
  const Function f = function({x, i, j}, {subtensor(x, {i, j}), inc_subtensor(x, {i, j}, 1.0)}, {.device = device()});
  const Array none = Array::zeros({0}, int64, device());
  const auto [taken, same] = f.call<2>(Array::zeros({0, 3}, float32, device()), none, none);
  EXPECT_EQ(taken.shape(), (Shape{0}));
  EXPECT_EQ(same.shape(), (Shape{0, 3}));
  EXPECT_EQ(subtensor(range({2, 3}), {none, none}).shape(), (Shape{0}));
}

// Enough of them for several workers, whose parts are slices of axes before, positions or columns.
TEST_P(AdvancedIndexing, AddsAndSetsManyRepeatedPositionsInTheirOrder) {
  const Variable x = tensor3("x"), y = tensor3("y"), i = vector("i", int64);
  const Variable added = inc_subtensor(x, {{}, i}, y), set = set_subtensor(x, {{}, i}, y), taken = sum(take(x, i, 1) * y);
  const Function f = function({x, y, i}, {added, set, grad(taken, x), grad(sum(sqr(set)), y)}, {.device = device()});
  std::mt19937 random(1);
  for (const Shape& shape : {Shape{3, 50, 8}, Shape{1, 5000, 1}, Shape{1, 7, 100}, Shape{40, 3, 2}}) {
    const std::int64_t count = 2000, extent = shape[1], inner = shape[2];
    std::vector<std::int64_t> at(static_cast<std::size_t>(count));
    for (std::int64_t& position : at) position = static_cast<std::int64_t>(random() % static_cast<unsigned>(extent));
    const auto numbers = [&](std::int64_t size) {
      std::vector<float> values(static_cast<std::size_t>(size));
      for (float& value : values) value = static_cast<float>(random() % 1000) / 7;
      return values;
    };
    const std::vector<float> from = numbers(shape.size()), to_add = numbers(shape[0] * count * inner);
    std::vector<float> sums = from, lasts = from, gradient(from.size(), 0), of_y(to_add.size(), 0);
    std::vector<std::int64_t> writer(from.size(), -1);
    for (std::int64_t outer = 0; outer < shape[0]; ++outer) {
      for (std::int64_t j = 0; j < count; ++j) {
        for (std::int64_t k = 0; k < inner; ++k) {
          const auto to = static_cast<std::size_t>((outer * extent + at[static_cast<std::size_t>(j)]) * inner + k), here = static_cast<std::size_t>((outer * count + j) * inner + k);
          sums[to] += to_add[here], gradient[to] += to_add[here];
          lasts[to] = to_add[here], writer[to] = static_cast<std::int64_t>(here);
        }
      }
    }
    for (std::int64_t here : writer) {
      if (here >= 0) of_y[static_cast<std::size_t>(here)] = 2 * to_add[static_cast<std::size_t>(here)];
    }
    const Array a = Array::from(from, shape, device()), b = Array::from(to_add, {shape[0], count, inner}, device()), positions = Array::from(at, device());
    const Results results = f(a, b, positions);
    EXPECT_EQ(results[0].to_vector<float>(), sums);
    EXPECT_EQ(results[1].to_vector<float>(), lasts);
    EXPECT_EQ(results[2].to_vector<float>(), gradient);
    EXPECT_EQ(results[3].to_vector<float>(), of_y);
    EXPECT_EQ(inc_subtensor(a, {{}, positions}, b).to_vector<float>(), sums);
    EXPECT_EQ(set_subtensor(a, {{}, positions}, b).to_vector<float>(), lasts);
  }
}

TEST_P(AdvancedIndexing, TheGradientOfASetSortsNoPositionsAgain) {
  const Variable x = vector("x"), y = vector("y"), at = vector("at", int64), z = set_subtensor(x, {at}, y);
  const Function f = function({x, y, at}, {z, grad(sum(z * z), y)}, {.device = device()});
  const std::string text = f.explain(), name = "  sorted_positions{";
  EXPECT_NE(text.find(name), std::string::npos);
  EXPECT_EQ(text.find(name), text.rfind(name)) << text;
  const Results got = f(range({3}), array({4, 5, 6, 7}), integers<std::int64_t>({2, 0, 2, 0}));
  EXPECT_EQ(got[0].to_doubles(), (std::vector<double>{7, 1, 6}));
  EXPECT_EQ(got[1].to_doubles(), (std::vector<double>{0, 0, 12, 14})) << "the last write of a place alone counts";
}

TEST_P(AdvancedIndexing, NamesWhatDoesNotFit) {
  const Variable x = tensor3("x"), i = vector("i", int64), j = vector("j", int64), y = vector("y"), fixed = input({int64, {2}}), other = input({int64, {3}});
  const auto places = [&](std::vector<std::int64_t> at) { return Array::from(at, {static_cast<std::int64_t>(at.size())}, device()); };
  EXPECT_THAT(error_of([&] { subtensor(x, {i, y}); }), HasSubstr("subtensor: tensors among the indices are integers or bools, this is y float32 (?,)"));
  EXPECT_THAT(error_of([&] { subtensor(x, {i, i, i, i}); }), HasSubstr("subtensor: 4 indices for 3 axes"));
  EXPECT_THAT(error_of([&] { subtensor(x, {ellipsis, i, ellipsis}); }), HasSubstr("subtensor: 2 ellipses"));
  EXPECT_THAT(error_of([&] { subtensor(x, {fixed, other}); }), HasSubstr("subtensor: positions of shapes (2,) and (3,) do not fit together"));
  EXPECT_THAT(error_of([&] { subtensor(x, {scalar("b", bool_)}); }), HasSubstr("a mask has at least one axis"));
  EXPECT_THAT(error_of([&] { subtensor(x, {i, Variable()}); }), HasSubstr("subtensor: an index is an empty Variable"));
  EXPECT_THAT(error_of([&] { set_subtensor(cast(x, int32), {i, j}, 0.5); }), HasSubstr("set_subtensor: 0.5 would not stay what it is in x, which is int32"));
  EXPECT_THAT(error_of([&] { inc_subtensor(gt(x, 0.0), {i, j}, true); }), HasSubstr("inc_subtensor: x is bool"));
  EXPECT_THAT(error_of([&] { set_subtensor(input({float32, {4, 5}}), {fixed}, input({float32, {3, 5}})); }), HasSubstr("set_subtensor: y of shape (3, 5) does not fit to the part of x, whose shape is (2, 5)"));
  const Function f = function({x, i, j}, {subtensor(x, {i, {}, j})}, {.device = device()});
  const auto error = [&](const Array& at, const Array& beside) { return error_of([&] { Array(f(range({2, 3, 4}), at, beside)).to_doubles(); }); };
  EXPECT_THAT(error(places({0, 2}), places({0, 0})), HasSubstr("subtensor: position 2 is not on axis 0, whose extent is 2"));
  EXPECT_THAT(error(places({0, 1}), places({-5, 0})), HasSubstr("subtensor: position -5 is not on axis 2, whose extent is 4"));
  EXPECT_THAT(error(places({0, 1}), places({-5, 0})), HasSubstr("advanced_indexing_test.cpp:"));
  EXPECT_THAT(error(places({0, 1}), places({0, 0, 0})), HasSubstr("subtensor: positions of shapes (2,) and (3,) do not fit together"));
  EXPECT_THAT(error(places({0, 1}), places({0})), HasSubstr("subtensor: positions of shapes (2,) and (1,) do not fit together")) << "an extent of 1 that the call alone shows does not stretch";
  EXPECT_THAT(error(places({0}), places({0, 1})), HasSubstr("subtensor: positions of shapes (1,) and (2,) do not fit together"));
  EXPECT_EQ(error(places({0, -2}), places({-4, 3})), "nothing thrown") << "the call after an error is right";
  const Variable m = vector("m", bool_);
  const Function g = function({x, m}, {subtensor(x, {0, m})}, {.device = device()});
  EXPECT_THAT(error_of([&] { g(range({2, 3, 4}), bools({1, 0}, {2})); }), HasSubstr("subtensor: a mask of shape (2,) does not fit to x of shape (3, 2, 4)"));
  const Array a = range({2, 3});
  EXPECT_THAT(error_of([&] { subtensor(a, {places({0}), places({3})}).to_doubles(); device().synchronize(); }), HasSubstr("subtensor: position 3 is not on axis 1, whose extent is 3"));
  EXPECT_THAT(error_of([&] { subtensor(a, {places({0, 1}), places({0, 1, 2})}); }), HasSubstr("do not fit together"));
  EXPECT_THAT(error_of([&] { subtensor(a, {0, 3}); }), HasSubstr("subtensor: position 3 is not on axis 1"));
  EXPECT_THAT(error_of([&] { subtensor(a, {array({1})}); }), HasSubstr("integers or bools, this is float32 (1,)"));
  EXPECT_THAT(error_of([&] { subtensor(a, {Array(), 0}); }), HasSubstr("subtensor: an index is an empty Array"));
  EXPECT_THAT(error_of([&] { set_subtensor(Array(), {0}, 1); }), HasSubstr("set_subtensor: x is an empty Array"));
  EXPECT_THAT(error_of([&] { set_subtensor(a, {places({0})}, range({5})); }), HasSubstr("y of shape (5,) does not fit to the part of x, whose shape is (1, 3)"));
}

DAMO_ON_EACH_DEVICE(AdvancedIndexing);

}  // namespace
}  // namespace damo
