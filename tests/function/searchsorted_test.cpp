// Searches in tables, and what kernels make of values before them and of places behind them: against std::lower_bound and std::upper_bound in float64, and against functions that fuse nothing.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include <damo/kernel_op.hpp>

#include "ops/fused_op.hpp"
#include "support/noise.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;

class Searchsorted : public testing::NoiseOnEachDevice {
 protected:
  Searchsorted() : NoiseOnEachDevice(23) {}
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  /// NaN stands behind all others.
  static bool before(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

  static std::vector<double> places_of(const std::vector<double>& sorted, const std::vector<double>& values, bool right) {
    std::vector<double> places;
    for (double value : values) {
      const auto at = right ? std::upper_bound(sorted.begin(), sorted.end(), value, before) : std::lower_bound(sorted.begin(), sorted.end(), value, before);
      places.push_back(static_cast<double>(at - sorted.begin()));
    }
    return places;
  }

  static std::vector<double> values_of(const Array& result) { return result.to_doubles(); }

  /// How many kernels are generated for the function, and how many of them read tables.
  struct Kernels {
    int all = 0, with_tables = 0;
  };
  static Kernels kernels_of(const Function& f) {
    Kernels kernels;
    for (NodeId node : f.graph().nodes()) {
      const auto* fused = dynamic_cast<const FusedOp*>(&f.graph().op(node));
      const auto* alone = dynamic_cast<const KernelOp*>(&f.graph().op(node));
      kernels.all += fused || alone;
      kernels.with_tables += (fused && fused->has_tables()) || (alone && alone->reads_table(0));
    }
    return kernels;
  }

  Array of(const std::vector<double>& values, DType dtype, const Shape& shape) const { return astype(Array::from(values, shape, device()), dtype); }
  Array of(const std::vector<double>& values, DType dtype = float32) const { return of(values, dtype, {static_cast<std::int64_t>(values.size())}); }
  /// Whole numbers and halves in order, among them equal ones, zeros of both signs, infinities and NaN where the dtype has them.
  std::vector<double> table(std::size_t size, DType dtype) {
    std::vector<double> values;
    for (std::size_t i = 0; i < size; ++i) values.push_back(value(dtype));
    std::sort(values.begin(), values.end(), before);
    return values;
  }
  double value(DType dtype) {
    if (dtype == bool_) return pick(0, 1);
    if (!is_floating(dtype)) return pick(is_signed(dtype) ? -60 : 0, 60);
    const double rare[] = {kInfinity, -kInfinity, std::nan(""), -0.0, 0.0};
    return pick(0, 9) == 0 ? rare[pick(0, 4)] : pick(-60, 60) / 2.0;
  }
  Function made(std::vector<Variable> inputs, const std::vector<Variable>& outputs, bool fuse = true) const {
    Options options{.device = device(), .allow_unused_inputs = true};
    options.fuse = fuse;
    return function(inputs, outputs, options);
  }
};

TEST_P(Searchsorted, FindsWhatTheStandardLibraryFinds) {
  for (DType dtype : {bool_, int8, uint8, int16, uint32, int32, int64, uint64, float16, bfloat16, float32, float64}) {
    const Variable sorted = input({dtype, {kUnknown}}, "sorted"), values = input({dtype, {kUnknown}}, "values");
    const Function f = made({sorted, values}, {searchsorted(sorted, values), searchsorted(sorted, values, true)});
    for (std::size_t size : {0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000}) {
      SCOPED_TRACE(std::string(name(dtype)) + ", table of " + std::to_string(size));
      const std::vector<double> own = table(size, dtype);
      std::vector<double> keys;
      for (int i = 0; i < 259; ++i) keys.push_back(value(dtype));
      const Array there = of(own, dtype), x = of(keys, dtype);
      const auto [left, right] = f.call<2>(there, x);
      EXPECT_EQ(left.to_doubles(), places_of(own, keys, false));
      EXPECT_EQ(right.to_doubles(), places_of(own, keys, true));
      EXPECT_EQ(searchsorted(there, x).to_doubles(), places_of(own, keys, false));
      EXPECT_EQ(searchsorted(there, x, true).to_doubles(), places_of(own, keys, true));
    }
  }
}

TEST_P(Searchsorted, TellsNeighbouringFloatsApart) {
  const float least = std::numeric_limits<float>::denorm_min(), most = std::numeric_limits<float>::max(), one = std::nextafter(1.0f, 2.0f);
  const std::vector<double> own{-kInfinity, -most, -1.0, -least, 0.0, least, 1.0, one, most, kInfinity, std::nan("")};
  std::vector<double> keys = own;
  for (double more : {-0.0, 2.0 * least, -2.0 * least, static_cast<double>(std::nextafter(1.0f, 0.0f)), -2.0}) keys.push_back(more);
  EXPECT_EQ(searchsorted(of(own), of(keys)).to_doubles(), places_of(own, keys, false));
  EXPECT_EQ(searchsorted(of(own), of(keys), true).to_doubles(), places_of(own, keys, true));
  const double tiny = std::numeric_limits<double>::denorm_min(), next = std::nextafter(1.0, 2.0);
  const std::vector<double> wide{-tiny, 0.0, tiny, 1.0, next, kInfinity, std::nan("")};
  EXPECT_EQ(searchsorted(of(wide, float64), of(wide, float64)).to_doubles(), places_of(wide, wide, false));
  EXPECT_EQ(searchsorted(of(wide, float64), of(wide, float64), true).to_doubles(), places_of(wide, wide, true));
}

TEST_P(Searchsorted, BinsAreOneKernelBesideTheSort) {
  const Variable x = input({float32, {37, 129}}, "x"), edges = input({float32, {64}}, "edges"), heights = input({float32, {65}}, "heights");
  const Function f = made({x, edges, heights}, {take(heights, searchsorted(sort(edges), x), 0)});
  EXPECT_EQ(kernels_of(f).all, 1) << f.explain();
  EXPECT_EQ(kernels_of(f).with_tables, 1);
  const Array keys = noise({37, 129}), bounds = noise({64}), given = noise({65});
  std::vector<double> own = bounds.to_doubles();
  std::sort(own.begin(), own.end());
  std::vector<double> wanted = places_of(own, keys.to_doubles(), false);
  for (double& place : wanted) place = given.to_doubles()[static_cast<std::size_t>(place)];
  EXPECT_EQ(values_of(f(keys, bounds, given)), wanted);
}

TEST_P(Searchsorted, WorkBeforeAndBehindIsInTheKernel) {
  const Variable x = input({float32, {23, 70}}, "x"), y = input({float32, {23, 70}}, "y"), edges = input({float32, {9}}, "edges");
  const Variable place = searchsorted(edges, x * 2.0 - y), counts = sum(cast(eq(place, 3), int32), 1), weights = sum(cast(place, float32) * y, 1);
  const Function f = made({x, y, edges}, {cast(place, uint8), counts, weights});
  EXPECT_EQ(kernels_of(f).all, 1) << f.explain();
  const std::vector<double> own{-4, -3, -1, -0.5, 0, 0.25, 1, 2.5, 5};
  const Array a = of(std::vector<double>(noise({23, 70}, int8).to_doubles()), float32, {23, 70}), b = of(std::vector<double>(noise({23, 70}, int8).to_doubles()), float32, {23, 70});
  std::vector<double> keys = a.to_doubles();
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = keys[i] * 2 - b.to_doubles()[i];
  const std::vector<double> wanted = places_of(own, keys, false);
  const Results got = f(a, b, of(own));
  EXPECT_EQ(got[0].to_doubles(), wanted);
  for (std::size_t row = 0; row < 23; ++row) {
    double threes = 0, weighted = 0;
    for (std::size_t i = row * 70; i < row * 70 + 70; ++i) threes += wanted[i] == 3, weighted += wanted[i] * b.to_doubles()[i];
    EXPECT_EQ(got[1].to_doubles()[row], threes);
    EXPECT_EQ(got[2].to_doubles()[row], weighted) << "of whole numbers, so that the sum is exact";
  }
}

TEST_P(Searchsorted, IsBesideNumbersOfElementsInOneKernel) {
  const Variable x = input({float32, {6, 50}}, "x"), edges = input({float32, {9}}, "edges");
  const Function f = made({x, edges}, {searchsorted(edges, x) * 1000 + index_along(x, 1), sum(searchsorted(edges, x) * index_along(x, 1), 1)});
  EXPECT_EQ(kernels_of(f).all, 1) << f.explain();
  const std::vector<double> own = table(9, float32);
  const Array given = noise({6, 50});
  std::vector<double> wanted = places_of(own, given.to_doubles(), false), sums(6);
  for (std::size_t i = 0; i < wanted.size(); ++i) sums[i / 50] += wanted[i] * static_cast<double>(i % 50), wanted[i] = wanted[i] * 1000 + static_cast<double>(i % 50);
  const Results got = f(given, of(own));
  EXPECT_EQ(got[0].to_doubles(), wanted);
  EXPECT_EQ(got[1].to_doubles(), sums);
}

TEST_P(Searchsorted, WhatMakesATableIsAKernelOfItsOwn) {
  const Variable weights = input({float32, {100}}, "weights"), u = input({float32, {100}}, "u");
  const Variable sums = cumsum(abs(weights));
  const Function scanned = made({weights, u}, {searchsorted(sums, u * 40.0)}), elementwise = made({weights, u}, {searchsorted(weights * 2.0 + 1.0, u + 1.0)});
  EXPECT_EQ(kernels_of(scanned).all, 2) << scanned.explain();
  EXPECT_EQ(kernels_of(elementwise).all, 2) << elementwise.explain();
  EXPECT_THAT(elementwise.explain(), HasSubstr("it reads elements at places that it computes"));
  const Array w = noise({100}), draws = noise({100});
  std::vector<double> table = cumsum(abs(w)).to_doubles(), keys;
  for (double value : draws.to_doubles()) keys.push_back(static_cast<float>(value) * 40.0f);
  EXPECT_EQ(values_of(scanned(w, draws)), places_of(table, keys, false));
  std::vector<double> line;
  for (int i = 0; i < 100; ++i) line.push_back(i - 50);
  std::vector<double> doubled, moved;
  for (double value : line) doubled.push_back(value * 2 + 1), moved.push_back(value + 1);
  EXPECT_EQ(values_of(elementwise(of(line), of(line))), places_of(doubled, moved, false));
}

TEST_P(Searchsorted, OneArrayIsATableAndHasElementsInOneKernel) {
  const Variable x = input({float32, {50}}, "x");
  const Function f = made({x}, {cast(searchsorted(x, x + 0.5), float32) * x + x});
  EXPECT_EQ(kernels_of(f).all, 1);
  std::vector<double> line, wanted;
  for (int i = 0; i < 50; ++i) line.push_back(i / 4), wanted.push_back(std::min(4 * (i / 4 + 1), 50) * (i / 4) + i / 4);
  EXPECT_EQ(values_of(f(of(line))), wanted);
}

TEST_P(Searchsorted, ATableIsNotWrittenOver) {
  const Shared line = shared("line", of({1, 2, 2, 3, 5, 8, 13, 21}));
  const Variable x = vector("x");
  Options options = this->options();
  options.updates = {{line, cast(searchsorted(line, line, true), float32) * 2.0}};
  const Function f = function({x}, {sum(x)}, options);
  f(of({1}));
  EXPECT_THAT(line.array().to_doubles(), ElementsAre(2, 6, 6, 8, 10, 12, 14, 16));
}

TEST_P(Searchsorted, TablesMayLieInAnyWay) {
  const std::vector<double> own{1, 2, 3, 5, 8}, keys{0, 1, 2.5, 5, 9};
  const Variable sorted = vector("sorted"), x = vector("x"), rows = matrix("rows");
  const Function f = made({sorted, x}, {searchsorted(sorted, x) * 2}), of_column = made({rows, x}, {searchsorted(subtensor(rows, {{}, 1}), x) * 2});
  const std::vector<double> wanted{0, 0, 4, 6, 10};
  EXPECT_EQ(values_of(f(of({8, 0, 5, 0, 3, 0, 2, 0, 1}).slice({{.step = -2}}), of(keys))), wanted);
  EXPECT_EQ(values_of(f(of(own), of({9, 7, 5, 7, 2.5, 7, 1, 7, 0}).slice({{.step = -2}}))), wanted);
  EXPECT_EQ(values_of(of_column(of({0, 1, 9, 2, 7, 3, 0, 5, 1, 8}, float32, {5, 2}), of(keys))), wanted);
  EXPECT_THAT(searchsorted(of({8, 0, 5, 0, 3, 0, 2, 0, 1}).slice({{.step = -2}}), of(keys)).to_doubles(), ElementsAre(0, 0, 2, 3, 5));
}

TEST_P(Searchsorted, PlacesThatMayLieBeyondAnArrayAreChecked) {
  const Variable x = vector("x"), edges = input({float32, {4}}, "edges"), heights = input({float32, {4}}, "heights");
  const Function f = made({x, edges, heights}, {take(heights, searchsorted(edges, x), 0)});
  const Array table = of({1, 2, 3, 4});
  EXPECT_THAT(values_of(f(of({0, 1.5, 4}), table, of({10, 20, 30, 40}))), ElementsAre(10, 20, 40));
  const std::string error = error_of<IndexError>([&] {
    f(of({9}), table, of({10, 20, 30, 40}));
    device().synchronize();
  });
  EXPECT_THAT(error, HasSubstr("take: position 4 is not on axis 0, whose extent is 4"));
}

TEST_P(Searchsorted, TakesGradientsOfWhatIsTaken) {
  const Variable x = vector("x"), edges = input({float32, {3}}, "edges"), heights = input({float32, {4}}, "heights");
  const Variable taken = take(heights, searchsorted(edges, x), 0);
  const Function f = made({x, edges, heights}, {grad(sum(taken * taken), heights)});
  EXPECT_THAT(values_of(f(of({0, 5, 1.5, 0.5}), of({1, 2, 3}), of({10, 20, 30, 40}))), ElementsAre(40, 40, 0, 80));
}

TEST_P(Searchsorted, GivesWhatKernelsApartGive) {
  const DType dtypes[] = {float32, float64, int32, int8, uint8, int64};
  for (int round = 0; round < 16; ++round) {
    const DType dtype = dtypes[pick(0, 5)];
    const std::int64_t rows = pick(1, 20), columns = pick(0, 3) == 0 ? 1 : pick(1, 300), count = pick(0, 90), known = pick(0, 1);
    SCOPED_TRACE("round " + std::to_string(round) + ", " + std::string(name(dtype)) + ", " + std::to_string(rows) + " x " + std::to_string(columns) + ", table of " + std::to_string(count));
    const auto extent = [&](std::int64_t value) { return known || value == 1 ? value : kUnknown; };
    const Variable x = input({dtype, {extent(rows), extent(columns)}}, "x"), y = input({dtype, {extent(columns)}}, "y"), edges = input({dtype, {extent(count)}}, "edges"), heights = input({dtype, {count + 1}}, "heights");
    const Variable place = searchsorted(sort(edges), pick(0, 1) ? x : maximum(x, y), pick(0, 1) == 1), taken = take(heights, pick(0, 1) ? place : count - place, 0);
    std::vector<Variable> outputs;
    if (pick(0, 1)) outputs.push_back(cast(place, int32) * 3 + cast(x, int32));
    if (pick(0, 1)) outputs.push_back(minimum(taken, x));
    if (pick(0, 1)) outputs.push_back(sum(cast(eq(place, pick(0, 9)), int32), pick(0, 1)));
    if (pick(0, 1)) outputs.push_back(cumsum(place, pick(0, 1)));
    if (pick(0, 1)) outputs.push_back(max(taken, 1));
    outputs.push_back(transpose(place));
    const Function fused = made({x, y, edges, heights}, outputs), apart = made({x, y, edges, heights}, outputs, false);
    Array given = noise({rows, columns}, dtype), bounds = noise({count}, dtype), values = noise({count + 1}, dtype);
    if (pick(0, 1)) given = transpose(noise({columns, rows}, dtype));
    if (pick(0, 2) == 0) given = noise({rows, 2 * columns}, dtype).slice({{.step = -1}, {.step = 2}});
    if (pick(0, 1)) bounds = noise({2 * count}, dtype).slice({{.step = 2}});
    if (pick(0, 1)) values = noise({count + 1}, dtype).slice({{.step = -1}});
    const Array other = noise({columns}, dtype);
    const Results got = fused(given, other, bounds, values), wanted = apart(given, other, bounds, values);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(got[i].to_doubles(), wanted[i].to_doubles()) << "output " << i << "\n"
                                                                                                           << fused.explain();
  }
}

/// A user's op that interpolates between the entries of a table.
struct Interpolated final : KernelOp {
  std::string name() const override { return "interpolated"; }
  bool reads_table(int input) const override { return input == 1; }
  void lower(KernelBuilder& k) const override {
    const auto place = k.step("x0 < T(0) ? 0 : x0", {k.input(0)});
    k.output(k.step("x0[i64(x1)] + (x1 - floor(x1)) * (x0[i64(x1) + 1] - x0[i64(x1)])", {k.input(1), place}));
  }
};

TEST_P(Searchsorted, UsersOpsReadTablesToo) {
  const Variable x = input({float32, {6}}, "x"), entries = input({float32, {4}}, "entries");
  const Function f = made({x, entries}, {make_op<Interpolated>()(x * 0.5, entries) + 1.0});
  EXPECT_EQ(kernels_of(f).all, 1);
  EXPECT_THAT(values_of(f(of({-2, 0, 1, 2, 5, 8}), of({0, 10, 30, 70}))), ElementsAre(1, 1, 6, 11, 51, 1)) << "a place beyond the table has 0";
}

/// Neither the op nor its steps promote with a table: its entries may be of any dtype.
TEST_P(Searchsorted, UsersTablesMayHaveAnotherDTypeThanElements) {
  const Variable x = input({float32, {6}}, "x");
  for (const DType dtype : {float64, float16, int32, uint8}) {
    const Variable entries = input({dtype, {4}}, "entries"), y = make_op<Interpolated>()(x * 0.5, entries);
    EXPECT_EQ(y.dtype(), float32) << name(dtype);
    EXPECT_THAT(values_of(made({x, entries}, {y})(of({-2, 0, 1, 2, 5, 8}), astype(of({0, 10, 30, 70}), dtype))), ElementsAre(0, 0, 5, 10, 50, 0)) << name(dtype);
  }
}

TEST(SearchsortedText, ANumberIsNoTable) {
  EXPECT_THAT(error_of<GraphError>([] { make_op<Interpolated>()(vector("x"), constant(Scalar(5.0f))); }), HasSubstr("interpolated: input 1 is a table, and a number was given"));
}

struct SumOfEntries final : KernelOp {
  std::string name() const override { return "sum_of_entries"; }
  std::optional<std::uint32_t> reduced_axes() const override { return 1; }
  bool reads_table(int input) const override { return input == 1; }
  void lower(KernelBuilder& k) const override { k.output(k.join({.element = "x0", .neutral = "0", .reduce = "a + b"}, {k.input(0)})); }
};

TEST(SearchsortedText, AnOpThatReducesReadsNoTable) {
  const Variable x = vector("x");
  EXPECT_THAT(error_of<GraphError>([&] { function({x}, {make_op<SumOfEntries>()(x, x)}); }), HasSubstr("sum_of_entries: an op that reduces reads no table"));
}

DAMO_ON_EACH_DEVICE(Searchsorted);

}  // namespace
}  // namespace damo
