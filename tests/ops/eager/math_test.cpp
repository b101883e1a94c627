// Arithmetic on arrays, against C++'s own in double precision.
#include <algorithm>
#include <cmath>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>
#include <damo/cache.hpp>
#include <damo/elementwise.hpp>
#include <damo/log.hpp>
#include "ops/eager/kernels.hpp"
#include "ops/rows.hpp"
#include "support/devices.hpp"
#include "support/row_reference.hpp"

namespace damo {
namespace {

using testing::error_of;
using Values = std::vector<double>;

class EagerMath : public testing::OnEachDevice {
 protected:
  Array bytes(const std::vector<std::int8_t>& values) const { return Array::from(values, device()); }
};

TEST_P(EagerMath, DoublesAnArrayInOneLine) {
  const Array a = range({4, 3});
  const Values doubled = (2 * a).to_doubles();
  for (std::size_t i = 0; i < doubled.size(); ++i) EXPECT_EQ(doubled[i], 2.0 * static_cast<double>(i));
  EXPECT_EQ((2 * a).dtype(), float32);
  EXPECT_EQ((2 * a).shape(), (Shape{4, 3}));
}

TEST_P(EagerMath, OperatorsTakeNumbersOnEitherSide) {
  const Array a = array({1, 2, 4});
  EXPECT_EQ((a + 1).to_doubles(), (Values{2, 3, 5}));
  EXPECT_EQ((1 - a).to_doubles(), (Values{0, -1, -3}));
  EXPECT_EQ((8 / a).to_doubles(), (Values{8, 4, 2}));
  EXPECT_EQ((a / 8).to_doubles(), (Values{0.125, 0.25, 0.5}));
  EXPECT_EQ((-a % 3).to_doubles(), (Values{2, 1, 2}));
  EXPECT_EQ((a < 2.5).to_vector<bool>(), (std::vector<bool>{true, true, false}));
  EXPECT_EQ((4 >= a).to_vector<bool>(), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(maximum(a, 2).to_doubles(), (Values{2, 2, 4}));
  EXPECT_EQ(where(a > 1, a, -1).to_doubles(), (Values{-1, 2, 4}));
  EXPECT_EQ(clip(a, 1.5, 3).to_doubles(), (Values{1.5, 2, 3}));
  EXPECT_EQ((~(a > 1)).to_vector<bool>(), (std::vector<bool>{true, false, false}));
}

TEST_P(EagerMath, AnotherNumberCompilesNothing) {
  const Array a = array({1, 2, 3});
  (a * 2).to_doubles();
  const std::uint64_t before = cache_statistics(device()).compiles + cache_statistics(device()).disk_hits;
  EXPECT_EQ((a * 7.5).to_doubles(), (Values{7.5, 15, 22.5}));
  EXPECT_EQ((a * INFINITY).to_doubles()[0], INFINITY);
  EXPECT_EQ(cache_statistics(device()).compiles + cache_statistics(device()).disk_hits, before);
}

TEST_P(EagerMath, PromotesAsNumPyDoes) {
  const Array i8 = bytes({1, 2, 3}), f32 = array({1, 2, 3});
  EXPECT_EQ((i8 + 1).dtype(), int8);
  EXPECT_EQ((i8 + 1.5).dtype(), float64);
  EXPECT_EQ((i8 + f32).dtype(), float32);
  EXPECT_EQ((i8 / i8).dtype(), float64);
  EXPECT_EQ(exp(i8).dtype(), float16);
  EXPECT_EQ(hypot(i8, astype(i8, uint8)).dtype(), float16) << "of graphs too, tests/ops/math_test.cpp";
  EXPECT_EQ((f32 + 1e300).to_doubles()[0], INFINITY);
  EXPECT_EQ((f32 < 2).dtype(), bool_);
  EXPECT_EQ((bytes({100}) + bytes({100})).to_doubles()[0], -56);
  EXPECT_EQ(lt(i8, 300).to_vector<bool>(), (std::vector<bool>{true, true, true}));
}

TEST_P(EagerMath, TellsWhatIsCloseAsNumPyDoes) {
  const float inf = INFINITY, nan = NAN;
  const Array x = array({1, 1, inf, inf, nan, 0, 1e30f}), y = array({1.00001f, 1.0001f, inf, -inf, nan, 1e-9f, inf});
  EXPECT_EQ(isclose(x, y, 1e-4, 1e-8).to_vector<bool>(), (std::vector<bool>{true, true, true, false, false, true, false}));
  EXPECT_EQ(isclose(x, y, 2e-5, 0, true).to_vector<bool>(), (std::vector<bool>{true, false, true, false, true, false, false}));
  EXPECT_TRUE(allclose(astype(array({1, 2}), float16), array({1, 2})));
  EXPECT_TRUE(allclose(bytes({1, 2}), array({1, 2})) && allclose(bytes({2, 2}), 2) && !allclose(bytes({1, 2}), 2));
  EXPECT_THAT(error_of([&] { allclose(x, y, -1); }), ::testing::HasSubstr("allclose: the tolerances are -1"));
}

TEST_P(EagerMath, BroadcastsAndReadsAnyStrides) {
  const Array a = range({3, 4}), row = array({10, 20, 30, 40});
  const Array sum = a + row, turned = a.transpose() + a.slice({{}, {std::nullopt, 3}}).slice({{0, 1}});
  EXPECT_EQ(sum.shape(), (Shape{3, 4}));
  const Values values = sum.to_doubles();
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 4; ++j) EXPECT_EQ(values[static_cast<std::size_t>(4 * i + j)], 4 * i + j + 10 * (j + 1));
  }
  EXPECT_EQ(turned.shape(), (Shape{4, 3}));
  EXPECT_EQ(turned.to_doubles()[4], 5 + 1);
  const Array backwards = a.slice({{std::nullopt, std::nullopt, -1}, {std::nullopt, std::nullopt, -2}});
  EXPECT_EQ((backwards * 1).to_doubles(), (Values{11, 9, 7, 5, 3, 1}));
  const Array column = Array::from(std::vector<float>{1, 2, 3}, {3, 1}, device());
  EXPECT_EQ((column * row).to_doubles()[11], 120);
  EXPECT_EQ((Array::scalar(2.0f, device()) * row).to_doubles(), (Values{20, 40, 60, 80}));
}

TEST_P(EagerMath, HandlesEmptyAndLargeArrays) {
  EXPECT_EQ((range({0, 3}) + 1).shape(), (Shape{0, 3}));
  EXPECT_EQ((range({5, 1}).slice({{0, 0}}) * range({1, 4})).shape(), (Shape{0, 4}));
  const std::int64_t size = (1 << 20) + 1;
  const Array big = range({size});
  const std::vector<float> tripled = (3 * big).to_vector<float>();
  for (std::int64_t i : {std::int64_t{0}, std::int64_t{77777}, size - 1}) {
    EXPECT_EQ(tripled[static_cast<std::size_t>(i)], 3.0f * static_cast<float>(i));
  }
}

TEST_P(EagerMath, WritesInPlaceThroughViews) {
  const Array a = range({3, 4});
  a.slice({{1, 2}}) *= -1;
  a.slice({{}, {0, 1}}) += 100;
  EXPECT_EQ(a.to_doubles(), (Values{100, 1, 2, 3, 96, -5, -6, -7, 108, 9, 10, 11}));
  Array b = a;
  b -= a;
  EXPECT_EQ(a.to_doubles(), Values(12, 0));
  const Array i = Array::from(std::vector<std::int32_t>{7, 8}, device());
  i %= 4;
  EXPECT_EQ(i.to_doubles(), (Values{3, 0}));
  const Array half = astype(range({3}), float16);
  half += range({3});
  EXPECT_EQ(half.dtype(), float16);
  EXPECT_EQ(half.to_doubles(), (Values{0, 2, 4}));
}

/// Rows whose kernels nobody has compiled.
const Elementwise unseen_on_cpu{{.name = "unseen_on_cpu", .doc = "x + y + 1", .code = "x0 + x1 + T(1)"}};
const Elementwise unseen_on_cuda{{.name = "unseen_on_cuda", .doc = "x + y + 1", .code = "x0 + x1 + T(1)"}};

TEST_P(EagerMath, TellsTheKernelWhenItWritesInPlace) {
  std::vector<std::string> lines;
  const LogLevel level = log_level();
  set_log_level(LogLevel::kDebug);
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  const Elementwise& unseen = GetParam() == "cpu" ? unseen_on_cpu : unseen_on_cuda;
  const Array a = range({70000}), b = range({70000});
  apply_elementwise(unseen.row(), {a, b}, a);
  apply_elementwise(unseen.row(), {b, b}, a);
  set_log_sink({});
  set_log_level(level);
  const auto compiled = [&](bool in_place) {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
      return line.find("unseen") != std::string::npos && line.find("new layout") != std::string::npos && (line.find("in_place") != std::string::npos) == in_place;
    });
  };
  EXPECT_EQ(compiled(true), 1);
  EXPECT_EQ(compiled(false), 1);
  EXPECT_EQ(a.to_vector<float>()[69999], 2 * 69999.0f + 1);
}

TEST_P(EagerMath, ReadsWhatItSharesBeforeItWrites) {
  const Array a = range({6});
  a.slice({{1, 6}}) += a.slice({{0, 5}});
  EXPECT_EQ(a.to_doubles(), (Values{0, 1, 3, 5, 7, 9}));
  const Array m = range({2, 2});
  m += m.transpose();
  EXPECT_EQ(m.to_doubles(), (Values{0, 3, 3, 6}));
  const Array r = range({3, 2});
  r += r.slice({{1, 2}});
  EXPECT_EQ(r.to_doubles(), (Values{2, 4, 4, 6, 6, 8}));
  const Array reversed = range({5});
  assign(reversed, reversed.slice({{std::nullopt, std::nullopt, -1}}));
  EXPECT_EQ(reversed.to_doubles(), (Values{4, 3, 2, 1, 0}));
}

TEST_P(EagerMath, EveryRowGivesWhatItsReferenceGives) {
  const std::vector<float> x = {0.25f, 0.5f, 0.75f}, y = {0.5f, 0.25f, 0.875f}, z = {0.625f, 0.75f, 0.9375f};
  for (const ElementwiseRow& row : builtin_rows()) {
    const testing::RowReference* reference = testing::reference_of(row.name);
    if (!takes(row, float32) || reference == nullptr || reference->floating == nullptr) continue;
    const Array a = array(x), b = array(y), c = array(z), condition = array(x) > 0.3;
    Array result;
    if (row.condition_first)
      result = apply_elementwise(row, {condition, b, c});
    else if (arity(row) == 1)
      result = apply_elementwise(row, {a});
    else if (arity(row) == 2)
      result = apply_elementwise(row, {a, b});
    else
      result = apply_elementwise(row, {a, b, c});
    const Values values = result.to_doubles();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double first = row.condition_first ? (x[i] > 0.3f ? 1 : 0) : x[i];
      const double expected = static_cast<double>(reference->floating(first, y[i], z[i]));
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(values[i])) << row.name;
      else
        EXPECT_NEAR(values[i], expected, 1e-5 * std::abs(expected) + 1e-6) << row.name;
    }
  }
}

TEST_P(EagerMath, ConvertsDTypes) {
  const Array a = array({-1.75f, 0, 2.5f});
  EXPECT_EQ(astype(a, int32).to_doubles(), (Values{-1, 0, 2}));
  EXPECT_EQ(astype(a, bool_).to_vector<bool>(), (std::vector<bool>{true, false, true}));
  EXPECT_EQ(astype(a.slice({{std::nullopt, std::nullopt, -2}}), float64).to_doubles(), (Values{2.5, -1.75}));
  EXPECT_EQ(astype(array({1.0f + 1.0f / 512}), bfloat16).to_doubles()[0], 1);
  EXPECT_FALSE(astype(a, float32).shares_buffer_with(a));
}

TEST_P(EagerMath, SaysWhatIsWrong) {
  const Array a = range({3, 4}), i = Array::from(std::vector<std::int32_t>{1, 2}, device());
  EXPECT_THAT(error_of([&] { (void)(a + range({5})); }),
              ::testing::HasSubstr("add: cannot broadcast (3, 4) with (5,)"));
  EXPECT_THAT(error_of([&] { (void)sub(a > 1, a > 2); }), ::testing::HasSubstr("sub takes numbers, not bool"));
  EXPECT_THAT(error_of([&] { (void)(i & 1.5); }), ::testing::HasSubstr("and_ takes integers and bool, not float64"));
  EXPECT_THAT(error_of([&] { i += 0.5; }),
              ::testing::HasSubstr("add: a result of float64 does not fit into int32 (2,)"));
  EXPECT_THAT(error_of([&] { i.slice({{0, 1}}) += i; }), ::testing::HasSubstr("a result of shape (2,) does not fit"));
  EXPECT_THAT(error_of([&] {
                a.slice({{0, 1}}).broadcast_to({3, 4}) += 1;
              }),
              ::testing::HasSubstr("add: axis 0 of the result is broadcast"));
  EXPECT_THAT(error_of([&] { a.view(float32, {2, 2}, {1, 1}, 0) += 1; }),
              ::testing::HasSubstr("add: elements of the result share places: its shape is (2, 2), its strides are (1, 1)"));
  EXPECT_THAT(error_of([&] { (void)(bytes({1}) + 300); }), ::testing::HasSubstr("add: 300 does not fit int8"));
  EXPECT_THAT(error_of([&] { (void)where(a, a, a); }),
              ::testing::HasSubstr("where: the condition must be bool, it is float32"));
  EXPECT_THAT(error_of([&] { (void)(a + Array()); }), ::testing::HasSubstr("an operand is an empty Array"));
  EXPECT_THAT(error_of([&] {
                (void)(a + Array::zeros({3, 4}, float32, Device("null")));
              }),
              ::testing::HasSubstr("add: operands lie on"));
  EXPECT_THAT(error_of([&] { (void)add(1, 2); }), ::testing::HasSubstr("add: no operand is an Array"));
}

TEST_P(EagerMath, RunsAUsersRow) {
  static const Elementwise swish{{.name = "eager_swish", .doc = "x sigmoid(x)", .code = "x0 / (T(1) + exp(-x0))"}};
  EXPECT_NEAR(apply_elementwise(swish.row(), {array({1})}).to_doubles()[0], 1 / (1 + std::exp(-1.0)), 1e-6);
}

TEST_P(EagerMath, ManyThreadsShareKernels) {
  std::vector<std::jthread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int k = 0; k < 50; ++k) {
        const Array a = range({8 + k % 3}, static_cast<float>(t));
        if ((a * t + k).to_doubles()[1] != (1.0 + t) * t + k) ++wrong;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(wrong, 0);
}

TEST(EagerKernels, AreBoundedAndFoundAgain) {
  Backend& null = Device("null").backend();
  EagerKernels kernels(null);
  const Array a = Array::zeros({2}, float32, Device("null"));
  const EagerInput input[] = {{&a, {}}};
  const ElementwiseRow& row = *find_elementwise("neg");
  EXPECT_EQ(kernels.kernel(row, input, float32, false), kernels.kernel(row, input, float32, false));
  EXPECT_NE(kernels.kernel(row, input, float32, false), kernels.kernel(row, input, float64, false));
  EXPECT_EQ(kernels.size(), 2u);
}

TEST(EagerMathOnNull, GivesShapesAndDTypesAndRunsNothing) {
  const Array x = Array::zeros({2, 3}, float32, Device("null"));
  const Array y = 2.0 * x.transpose() + x.slice({{0, 1}}).reshape({3, 1});
  EXPECT_EQ(describe(y), "float32 (3, 2) on null");
}

DAMO_ON_EACH_DEVICE(EagerMath);

}  // namespace
}  // namespace damo
