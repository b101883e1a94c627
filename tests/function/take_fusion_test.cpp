// Kernels that find slices at positions themselves (src/ops/rewrites/fuse_takes.hpp): values are those of copies, whatever the table's layout, dtype and the kernel's form; positions beyond the axis are found as before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include <damo/damo.hpp>

#include "ops/fused_op.hpp"
#include "support/noise.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;
using Build = std::function<std::vector<Variable>(const Variable& table, const Variable& ids, const Variable& x)>;

int takes_of(const Function& f) {
  int takes = 0;
  for (NodeId node : f.graph().nodes()) {
    if (const auto* fused = dynamic_cast<const FusedOp*>(&f.graph().op(node))) takes += static_cast<int>(fused->takes().size());
  }
  return takes;
}

Variable layer_norm(const Variable& x, const Variable& weight, const Variable& bias) {
  const Variable centred = x - mean(x, -1, keepdims);
  return centred / sqrt(mean(centred * centred, -1, keepdims) + 1e-5) * weight + bias;
}

/// Inputs of kernels that are taken, where extents are known, and where they are not.
struct Takes {
  int known = 1, unknown = 1;
};

class TakeFusion : public testing::NoiseOnEachDevice {
 protected:
  TakeFusion() : NoiseOnEachDevice(11) {}

  Array ids(const Shape& shape, int extent, DType dtype = int32) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(shape.size()));
    for (std::int32_t& value : values) value = pick(-extent, extent - 1);
    const Array array = Array::from(values, shape, device());
    return dtype == int32 ? array : astype(array, dtype);
  }
  bool is_cpu() const { return GetParam() == "cpu"; }

  static TensorType type_of(const Array& array, bool known) {
    TensorType type{array.dtype(), array.shape()};
    for (std::int64_t& extent : type.dims) extent = known || extent == 1 ? extent : kUnknown;
    return type;
  }

  /// exact: not a bit differs from what copies give; else sums may be joined in another order.
  void compare(const std::string& name, const Array& table, const Array& ids, const Array& x, const Build& build, Takes takes = {}, bool exact = true) {
    for (const bool known : {true, false}) {
      SCOPED_TRACE(name + (known ? "" : ", extents unknown"));
      const Variable inputs[] = {input(type_of(table, known), "table"), input(type_of(ids, known), "ids"), input(type_of(x, known), "x")};
      const std::vector<Variable> outputs = build(inputs[0], inputs[1], inputs[2]);
      const Function fused = function(inputs, outputs, {.device = device(), .allow_unused_inputs = true}), apart = function(inputs, outputs, {.disable = {"fuse_takes"}, .device = device(), .allow_unused_inputs = true});
      EXPECT_EQ(takes_of(fused), known ? takes.known : takes.unknown);
      EXPECT_EQ(takes_of(apart), 0);
      for (int call = 0; call < 2; ++call) {
        const Results got = fused(table, ids, x), wanted = apart(table, ids, x);
        for (std::size_t i = 0; i < wanted.size(); ++i) expect_equal(got[i], wanted[i], exact || !is_floating(wanted[i].dtype()));
      }
    }
  }

  void expect_equal(const Array& got, const Array& wanted, bool exact) {
    ASSERT_EQ(got.shape(), wanted.shape());
    if (exact) {
      const Array a = got.copy().to(Device("cpu")), b = wanted.copy().to(Device("cpu"));
      EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.size()) * itemsize(a.dtype())), 0);
      return;
    }
    const std::vector<double> a = astype(got, float64).to_vector<double>(), b = astype(wanted, float64).to_vector<double>();
    const double step = wanted.dtype() == float64 ? 1e-11 : wanted.dtype() == float32 ? 2e-5 : 2e-2;
    for (std::size_t k = 0; k < b.size(); ++k) ASSERT_NEAR(a[k], b[k], step * (1 + std::abs(b[k]))) << "element " << k;
  }
};

std::vector<Variable> positive_parts(const Variable& table, const Variable& at, const Variable&) {
  const Variable taken = take(table, at, 0);
  return {where(taken > 0, taken, 1)};
}

TEST_P(TakeFusion, GivesWhatCopiesGiveOfEachDType) {
  for (const DType dtype : {float32, float64, float16, bfloat16, int32, int8, uint8, int64}) {
    for (const int length : {64, 100, 67}) {
      compare(std::string(damo::name(dtype)) + " of " + std::to_string(length), noise({20, length}, dtype), ids({33}, 20), noise({1}), positive_parts);
    }
  }
}

TEST_P(TakeFusion, LeavesShortSlicesToCopies) {
  for (const int length : {15, 4, 3}) compare(std::to_string(length), noise({20, length}), ids({33}, 20), noise({1}), positive_parts, {0, 1});
  compare("1", noise({20, 1}), ids({33}, 20), noise({1}), positive_parts, {0, 0});
  compare("numbers", noise({20}), ids({33}, 20), noise({1}), positive_parts, {0, 0});
  compare("columns", noise({20, 64}), ids({33}, 64), noise({1}), [](auto& table, auto& at, auto&) { return std::vector<Variable>{take(table, at, 1) * 2}; }, {0, 0});
}

TEST_P(TakeFusion, GivesWhatCopiesGiveWhereverPositionsStand) {
  const auto along = [](int axis) { return [axis](const Variable& table, const Variable& at, const Variable&) { return std::vector<Variable>{take(table, at, axis) * 2 + 1}; }; };
  compare("of matrices", noise({6, 5, 20}), ids({4}, 6), noise({1}), along(0));
  compare("within", noise({6, 5, 20}), ids({7}, 5), noise({1}), along(1));
  compare("a matrix of positions", noise({9, 40}), ids({3, 5}, 9), noise({1}), along(0));
  compare("a matrix of positions within", noise({4, 9, 40}), ids({3, 5}, 9), noise({1}), along(1));
  compare("one position", noise({9, 40}), ids({1}, 9), noise({1}), along(0));
  compare("a number", noise({9, 40}), ids({}, 9), noise({1}), along(0));
  compare("no positions", noise({9, 40}), ids({0}, 9), noise({1}), along(0));
  compare("slices of nothing", noise({9, 0}), ids({5}, 9), noise({1}), along(0), {0, 1});
  compare("one slice", noise({1, 40}), ids({5}, 1), noise({1}), along(0));
  const auto both = [](const Variable& table, const Variable& at, const Variable&) { return std::vector<Variable>{subtensor(table, {at, at}) + 1, subtensor(table, {{}, at}) * 3}; };
  compare("of two axes", noise({6, 6, 40}), ids({7}, 6), noise({1}), both, {2, 2});
}

TEST_P(TakeFusion, GivesWhatCopiesGiveOfTablesThatLieOtherwise) {
  const Build build = [](const Variable& table, const Variable& at, const Variable& x) { return std::vector<Variable>{take(table, at, 0) * x, sum(take(table, at, 0) * x, 1)}; };
  const Array x = noise({33, 40});
  compare("turned", transpose(noise({40, 20})), ids({33}, 20), x, build, {1, 1}, is_cpu());
  compare("backwards", noise({20, 40}).slice({{.step = -1}}), ids({33}, 20), x, build, {1, 1}, is_cpu());
  compare("every second row", noise({40, 40}).slice({{.step = 2}}), ids({33}, 20), x, build, {1, 1}, is_cpu());
  compare("columns of more", noise({20, 64}).slice({{}, {3, 43}}), ids({33}, 20), x, build, {1, 1}, is_cpu());
  const Build views = [](const Variable& table, const Variable& at, const Variable& x) { return std::vector<Variable>{subtensor(table, {at, {3, 43}}) * x}; };
  compare("a part of the slices", noise({20, 64}), ids({33}, 20), x, views);
}

TEST_P(TakeFusion, GivesWhatCopiesGiveOfRowsThatAreReduced) {
  for (const DType dtype : {float32, float16, float64}) {
    for (const int length : {48, 67, 768, 32, 256, 1000, 5000}) {
      if (!testing::is_thorough() && (dtype == float32 ? length == 32 || length == 256 || length == 1000 : length != 67)) continue;
      const Build norm = [](const Variable& table, const Variable& at, const Variable& x) {
        const Variable taken = take(table, at, 0);
        return std::vector<Variable>{layer_norm(taken, x, x), taken * 2, max(taken, 1), softmax(taken, 1)};
      };
      compare(std::string(damo::name(dtype)) + " of " + std::to_string(length), noise({30, length}, dtype), ids({41}, 30), noise({length}, dtype), norm, dtype == float16 ? Takes{1, 1} : Takes{2, 0}, is_cpu());
    }
  }
}

TEST_P(TakeFusion, GivesWhatCopiesGiveWhereTheFormWantsThem) {
  const auto of = [&](const std::string& name, auto build, Takes takes, const Array& table, const Array& at) { compare(name, table, at, noise({1}), [&](const Variable& t, const Variable& p, const Variable&) { return build(take(t, p, 0)); }, takes, is_cpu()); };
  using All = std::vector<Variable>;
  const Array table = noise({20, 64}), at = ids({33}, 20), matrices = noise({20, 7, 64});
  of("all", [](const Variable& y) { return All{sum(y)}; }, {0, 0}, table, at);
  of("scans", [](const Variable& y) { return All{cumsum(y, 1)}; }, {0, 0}, table, at);
  of("a transposed result", [](const Variable& y) { return All{contiguous(transpose(y * 2))}; }, {0, 0}, table, at);
  of("both ways", [](const Variable& y) { return All{y - mean(y, 1, keepdims), sum(y, 0)}; }, {1, 1}, table, at);
  of("a long row", [](const Variable& y) { return All{y - mean(y, 1, keepdims)}; }, {1, 1}, noise({3, 300000}), ids({2}, 3));
  of("pieces", [](const Variable& y) { return All{y - mean(y, std::vector<int>{0, 2}, keepdims)}; }, {0, 0}, matrices, at);
  of("matrices", [](const Variable& y) { return All{y - mean(y, std::vector<int>{1, 2}, keepdims)}; }, {1, 1}, matrices, at);
  of("what a view reads too", [](const Variable& y) { return All{y + contiguous(transpose(transpose(y)))}; }, {0, 0}, table, at);
}

TEST_P(TakeFusion, GivesWhatCopiesGiveOfSumsOverPositions) {
  using All = std::vector<Variable>;
  const auto of = [&](const std::string& name, const Array& table, const Array& at, auto build, Takes takes = {}) {
    compare(
        name, table, at, noise({1}, table.dtype()), [&](const Variable& t, const Variable& p, const Variable&) { return build(t, p); }, takes, is_cpu());
  };
  const auto bags = [](const Variable& t, const Variable& p) { return All{mean(take(t, p, 0), p.rank() - 1)}; };
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    for (const int length : {64, 256, 33, 100}) {
      if (!testing::is_thorough() && (dtype == float32) != (length == 64 || length == 33)) continue;
      of(std::string(damo::name(dtype)) + " of " + std::to_string(length), noise({50, length}, dtype), ids({37, 6}, 50), bags);
    }
  }
  of("whole numbers", noise({50, 64}, int32), ids({37, 6}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 0), 1), max(take(t, p, 0), 1)}; });
  of("one bag", noise({50, 64}), ids({37}, 50), bags);
  of("a long bag", noise({50, 64}), ids({2, 9000}, 50), bags);
  of("bags of one", noise({50, 64}), ids({9, 1}, 50), bags, {1, 1});
  of("empty bags", noise({50, 64}), ids({9, 0}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 0), 1)}; });
  of("no bags", noise({50, 64}), ids({0, 5}, 50), bags);
  of("turned positions", noise({50, 64}), transpose(ids({6, 37}, 50)), bags);
  of("bags along the first axis", noise({50, 64}), ids({6, 37}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 0), 0)}; });
  of("within", noise({3, 50, 64}), ids({7, 5}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 1), 2)}; });
  of("an axis of the slices too", noise({50, 4, 64}), ids({7, 5}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 0) * 2, {1, 2})}; });
  of("an axis of the slices alone", noise({50, 4, 64}), ids({7, 5}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 0), 2)}; });
  of("all but the last", noise({3, 50, 64}), ids({7, 5}, 50), [](const Variable& t, const Variable& p) { return All{sum(take(t, p, 1), {0, 1, 2})}; });
  of("what is gone through again", noise({50, 64}), ids({37, 6}, 50), [](const Variable& t, const Variable& p) { const Variable y = take(t, p, 0); return All{y - mean(y, 1, keepdims), softmax(y, 1)}; });
  of("a table that lies otherwise", transpose(noise({64, 50})), ids({37, 6}, 50), bags);
  of("backwards", noise({50, 64}).slice({{.step = -1}}), ids({37, 6}, 50), bags);
  of("two kernels", noise({50, 64}), ids({37, 6}, 50), [](const Variable& t, const Variable& p) { const Variable y = take(t, p, 0); return All{sum(y, 1), sum(y, 0)}; }, {0, 0});
  const Variable table = input({float32, {50, 64}}), at = input({int32, {9, 5}}), weight = input({float32, {9, 5, 1}}), inputs[] = {table, at, weight}, outputs[] = {sum(take(table, at, 0) * weight, 1)};
  const Function fused = function(inputs, outputs, {.device = device()}), apart = function(inputs, outputs, {.disable = {"fuse_takes"}, .device = device()});
  EXPECT_EQ(takes_of(fused), 1);
  const Array t = noise({50, 64}), p = ids({9, 5}, 50), w = noise({9, 5, 1});
  expect_equal(fused(t, p, w)[0], apart(t, p, w)[0], is_cpu());
}

TEST_P(TakeFusion, StillFindsPositionsOfSumsBeyondTheAxis) {
  const Variable table = input({float32, {9, 64}}), at = input({int32, {2, 2}}), inputs[] = {table, at}, outputs[] = {sum(take(table, at, 0), 1)};
  const Function f = function(inputs, outputs, {.device = device()});
  EXPECT_EQ(takes_of(f), 1);
  const Array numbers = Array::ones({9, 64}, float32, device());
  EXPECT_EQ(f(numbers, Array::from(std::vector<int>{3, -9, 8, 0}, {2, 2}, device()))[0].to_vector<float>(), std::vector<float>(128, 2));
  const auto calls = [&] {
    f(numbers, Array::from(std::vector<int>{3, 0, 9, 1}, {2, 2}, device()));
    device().synchronize();
  };
  EXPECT_THAT(testing::error_of<IndexError>(calls), HasSubstr("take: position 9 is not on axis 0, whose extent is 9"));
}

TEST_P(TakeFusion, FindsSeveralTablesInOneKernel) {
  const Variable words = input({float32, {50, 96}}), places = input({float32, {12, 96}}), at = input({int32, {5, 12}}), weight = input({float32, {96}});
  const Variable sum_of_both = take(words, at, 0) + take(places, symbolic::arange(12, int64), 0), inputs[] = {words, places, at, weight};
  const std::vector<Variable> outputs{layer_norm(sum_of_both, weight, weight), sum_of_both};
  const Function fused = function(inputs, outputs, {.device = device()}), apart = function(inputs, outputs, {.disable = {"fuse_takes"}, .device = device()});
  EXPECT_GE(takes_of(fused), 1);
  const Array w = noise({50, 96}), p = noise({12, 96}), a = ids({5, 12}, 50), g = noise({96});
  const Results got = fused(w, p, a, g), wanted = apart(w, p, a, g);
  for (std::size_t i = 0; i < 2; ++i) expect_equal(got[i], wanted[i], is_cpu());
}

TEST_P(TakeFusion, FindsSlicesBeyondNumbersOf32Bits) {
  if (!is_cpu()) GTEST_SKIP() << "a GPU has no memory of which few pages are there";
  constexpr std::int64_t kRows = (std::int64_t{1} << 25) + 5;
  const std::size_t bytes = static_cast<std::size_t>(kRows) * 64;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  {
    const Array table = Array::borrow(memory, uint8, {kRows, 64}, {64, 1}, device());
    for (int k = 0; k < 64; ++k) static_cast<std::uint8_t*>(memory)[(kRows - 1) * 64 + k] = static_cast<std::uint8_t>(k + 1);
    const Variable t = input({uint8, {kRows, 64}}), at = input({int64, {3}}), inputs[] = {t, at}, taken = take(t, at, 0), outputs[] = {taken + taken, max(taken, 1)};
    const Function f = function(inputs, outputs, {.device = device()});
    EXPECT_GE(takes_of(f), 1);
    const Results got = f(table, Array::from(std::vector<std::int64_t>{kRows - 1, 0, -1}, device()));
    EXPECT_EQ(got[1].to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{64, 0, 64}));
    EXPECT_EQ(got[0].to_vector<std::uint8_t>()[63], 128);
  }
  munmap(memory, bytes);
}

TEST_P(TakeFusion, StillFindsPositionsBeyondTheAxis) {
  const Variable table = input({float32, {9, 40}}), at = input({int32, {kUnknown}}), inputs[] = {table, at}, outputs[] = {take(table, at, 0) * 2};
  const Function f = function(inputs, outputs, {.device = device()});
  EXPECT_EQ(takes_of(f), 1);
  f(noise({9, 40}), Array::from(std::vector<int>{3, -9, 8}, device()));
  const auto calls = [&] {
    f(noise({9, 40}), Array::from(std::vector<int>{3, 9}, device()));
    device().synchronize();
  };
  EXPECT_THAT(testing::error_of<IndexError>(calls), HasSubstr("take: position 9 is not on axis 0, whose extent is 9"));
}

TEST_P(TakeFusion, LeavesATableThatIsUpdatedAsItIsUntilAllIsRead) {
  const Array first = noise({20, 64});
  const Array at = ids({20}, 20);
  const auto run = [&](std::vector<std::string> disabled) {
    const Shared table = shared("table", first.copy());
    const Variable positions = input({int32, {20}}), inputs[] = {positions}, taken = take(table, positions, 0) * 0.5;
    const std::vector<Variable> outputs{};
    const Function f = function(inputs, outputs, {.disable = std::move(disabled), .device = device(), .updates = {{table, table * 2 - taken}}});
    EXPECT_EQ(takes_of(f), disabled.empty() && f.graph().has_op<FusedOp>() ? takes_of(f) : 0);
    f(at);
    f(at);
    return table.array();
  };
  expect_equal(run({}), run({"fuse_takes"}), true);
}

TEST_P(TakeFusion, LeavesADonatedTableAsItIsUntilAllIsRead) {
  const Variable table = input({float32, {20, 64}}), at = input({int32, {20}}), inputs[] = {table, at}, outputs[] = {take(table, at, 0) * 2 + table};
  const Array first = noise({20, 64}), positions = ids({20}, 20);
  const Function fused = function(inputs, outputs, {.device = device(), .donate = {table}}), apart = function(inputs, outputs, {.disable = {"fuse_takes"}, .device = device()});
  EXPECT_EQ(takes_of(fused), 1);
  expect_equal(fused(first.copy(), positions)[0], apart(first, positions)[0], true);
}

TEST_P(TakeFusion, WritesPartsOfAResult) {
  const Build build = [](const Variable& table, const Variable& at, const Variable& x) { return std::vector<Variable>{concatenate({take(table, at, 0) * 2, x}, 1)}; };
  compare("parts", noise({20, 40}), ids({33}, 20), noise({33, 24}), build);
}

TEST_P(TakeFusion, IsTakenApartByTheGuardAgainstNaN) {
  const Variable table = input({float32, {9, 40}}, "table"), at = input({int32, {5}}), inputs[] = {table, at}, outputs[] = {log(take(table, at, 0))};
  const Function f = function(inputs, outputs, {.device = device(), .nan_guard = true});
  EXPECT_EQ(takes_of(f), 1);
  const Array ones = Array::ones({9, 40}, float32, device()), positions = ids({5}, 9);
  f(ones, positions);
  EXPECT_THAT(testing::error_of<NotFiniteError>([&] { f(ones * -1.0f, positions); }), HasSubstr("log"));
}

TEST_P(TakeFusion, HasTheGradientOfACopy) {
  const Build build = [](const Variable& table, const Variable& at, const Variable& x) {
    const Variable cost = sum(layer_norm(take(table, at, 0), x, x) * x);
    return grad(cost, {table, x});
  };
  const Array table = noise({20, 64}), positions = ids({33}, 20), x = noise({64});
  const Variable inputs[] = {input({float32, {20, 64}}), input({int32, {33}}), input({float32, {64}})};
  const std::vector<Variable> outputs = build(inputs[0], inputs[1], inputs[2]);
  const Results got = function(inputs, outputs, {.device = device()})(table, positions, x), wanted = function(inputs, outputs, {.disable = {"fuse_takes"}, .device = device()})(table, positions, x);
  for (std::size_t i = 0; i < 2; ++i) expect_equal(got[i], wanted[i], is_cpu());
}

TEST_P(TakeFusion, IsInExplainAndReport) {
  const Variable table = input({float32, {9, 40}}, "table"), at = input({int32, {5}}, "ids"), inputs[] = {table, at}, outputs[] = {take(table, at, 0) * 2};
  const Function f = function(inputs, outputs, {.device = device()});
  f(noise({9, 40}), ids({5}, 9));
  EXPECT_THAT(f.explain(), HasSubstr("taken row dense"));
  EXPECT_THAT(f.explain(), HasSubstr("v4 = take(v3, v2) * 2"));
  EXPECT_THAT(f.explain(), HasSubstr("8 bytes an element and 1 broadcast input"));
}

DAMO_ON_EACH_DEVICE(TakeFusion);

}  // namespace
}  // namespace damo
