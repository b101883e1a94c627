// Comparisons of uint64 with signed integers, against C++'s own std::cmp_less and its like; and what is close.
#include <damo/damo.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/devices.hpp"

namespace damo {
namespace {

using Bools = std::vector<bool>;

constexpr std::uint64_t k53 = std::uint64_t{1} << 53, k63 = std::uint64_t{1} << 63;
const std::vector<std::int64_t> kSigned = {
    INT64_MIN, -1,        -1,       0, 0, static_cast<std::int64_t>(k53), static_cast<std::int64_t>(k53) + 1,
    INT64_MAX, INT64_MAX, INT64_MIN};
const std::vector<std::uint64_t> kUnsigned = {k63, ~std::uint64_t{0}, 0, 0, 1, k53 + 1, k53 + 1, k63 - 1, k63, 0};

/// All six, in this order: lt, le, gt, ge, eq, neq.
template <class X, class Y>
std::vector<Bools> expected(const std::vector<X>& x, const std::vector<Y>& y) {
  std::vector<Bools> all(6);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool is[] = {std::cmp_less(x[i], y[i]),    std::cmp_less_equal(x[i], y[i]),
                       std::cmp_greater(x[i], y[i]), std::cmp_greater_equal(x[i], y[i]),
                       std::cmp_equal(x[i], y[i]),   std::cmp_not_equal(x[i], y[i])};
    for (std::size_t k = 0; k < 6; ++k) all[k].push_back(is[k]);
  }
  return all;
}

template <class X, class Y>
auto all_of(const X& x, const Y& y) {
  return std::vector{lt(x, y), le(x, y), gt(x, y), ge(x, y), eq(x, y), neq(x, y)};
}

std::vector<Bools> values_of(const std::vector<Array>& arrays) {
  std::vector<Bools> values;
  for (const Array& array : arrays) values.push_back(array.to_vector<bool>());
  return values;
}

template <class T>
std::vector<T> filled(std::size_t count, T value) {
  return std::vector<T>(count, value);
}

class Comparisons : public testing::OnEachDevice {
 protected:
  void SetUp() override {
    testing::OnEachDevice::SetUp();
    if (IsSkipped()) return;
    s = Array::from(kSigned, device());
    u = Array::from(kUnsigned, device());
  }
  Array s, u;
  Options options(bool rewrite) const {
    Options options{.device = device()};
    options.rewrite = rewrite;
    return options;
  }
};

TEST_P(Comparisons, OfArraysAreExact) {
  EXPECT_EQ(values_of(all_of(s, u)), expected(kSigned, kUnsigned));
  EXPECT_EQ(values_of(all_of(u, s)), expected(kUnsigned, kSigned));
  EXPECT_EQ((u + s).dtype(), float64) << "sums are promoted as NumPy promotes them";
}

TEST_P(Comparisons, OfGraphsAreExactFusedAndUnfused) {
  const Variable x = vector("x", int64), y = vector("y", uint64);
  std::vector<Variable> outputs = all_of(x, y);
  for (const Variable& output : all_of(y, x)) outputs.push_back(output);
  std::vector<Bools> right = expected(kSigned, kUnsigned);
  for (const Bools& values : expected(kUnsigned, kSigned)) right.push_back(values);
  for (const bool rewrite : {true, false})
    EXPECT_EQ(values_of(function({x, y}, outputs, options(rewrite))(s, u)), right) << rewrite;
}

TEST_P(Comparisons, WithNumbersAreExact) {
  const std::size_t n = kSigned.size();
  const std::vector<Bools> of_minus_one = expected(kUnsigned, filled<std::int64_t>(n, -1)),
                           of_great = expected(kSigned, filled(n, k63));
  EXPECT_EQ((u < -1).to_vector<bool>(), of_minus_one[0]);
  EXPECT_EQ((u >= -1).to_vector<bool>(), of_minus_one[3]);
  EXPECT_EQ(eq(s, k53 + 1).to_vector<bool>(), expected(kSigned, filled(n, k53 + 1))[4]);
  EXPECT_EQ((s < k63).to_vector<bool>(), of_great[0]);
  const Variable x = vector("x", int64), y = vector("y", uint64);
  EXPECT_EQ(values_of(function({y}, all_of(y, -1), options(true))(u)), of_minus_one);
  EXPECT_EQ(values_of(function({x}, all_of(x, k63), options(true))(s)), of_great);
}

TEST_P(Comparisons, OfConstantsAreFoldedExactly) {
  const Variable x = constant(s), y = constant(u);
  EXPECT_EQ(values_of(function({}, all_of(x, y), options(true))()), expected(kSigned, kUnsigned));
}

TEST_P(Comparisons, OfShortIntegersAreExact) {
  const std::vector<std::int8_t> shorts = {-128, -1, -1, 0, 0, 1, 1, 127, 127, -128};
  const Variable x = vector("x", int8), y = vector("y", uint64);
  EXPECT_EQ(values_of(function({x, y}, all_of(x, y), options(true))(Array::from(shorts, device()), u)),
            expected(shorts, kUnsigned));
}

/// What of pairs is close, as NumPy has it: by 1e-4 + 1e-8, and by 2e-5 where NaN is close to NaN.
TEST_P(Comparisons, TellWhatIsCloseAsNumPyDoes) {
  const float inf = INFINITY, nan = NAN;
  const Array x = array({1, 1, inf, inf, nan, 0, 1e30f}), y = array({1.00001f, 1.0001f, inf, -inf, nan, 1e-9f, inf});
  const Variable a = vector("a"), b = vector("b");
  for (const bool rewrite : {true, false}) {
    const std::vector<Variable> outputs = {isclose(a, b, 1e-4, 1e-8), isclose(a, b, 2e-5, 0, true), allclose(a, b, 1e-4, 1e-8),
                                           allclose(a, a, 0, 0, true), allclose(a, a)};
    const Results r = function({a, b}, outputs, options(rewrite))(x, y);
    EXPECT_EQ(Array(r[0]).to_vector<bool>(), (Bools{true, true, true, false, false, true, false}));
    EXPECT_EQ(Array(r[1]).to_vector<bool>(), (Bools{true, false, true, false, true, false, false}));
    EXPECT_EQ(Array(r[2]).shape(), Shape{});
    for (int k : {2, 3, 4}) EXPECT_EQ(Array(r[k]).item().as_int() != 0, k == 3) << k;
  }
}

TEST_P(Comparisons, TellWhatIsCloseInADtypeThatHoldsTheTolerances) {
  const Variable h = vector("h", float16), i = vector("i", int32), b = vector("b", bool_), d = vector("d", float64);
  const Array halves = astype(array({1, 2}), float16), doubles = Array::from({1 + 2e-5, 2 + 1e-9}, device());
  const Array integers = Array::from({100000001, 3}, device()), bools = astype(array({1, 0}), bool_);
  // 1e-5 of float16 is 168 units of its least number, and 100000000 and 100000001 are one number of float32.
  const std::vector<Variable> outputs = {isclose(h, d), isclose(d, h), isclose(i, 100000000, 0, 0.5), isclose(b, 1.0), isclose(1, b, 0, 1)};
  const Results r = function({h, i, b, d}, outputs, options(true))(halves, integers, bools, doubles);
  const Bools expected[] = {{false, true}, {false, true}, {false, false}, {true, false}, {true, true}};
  for (int k = 0; k < 5; ++k) EXPECT_EQ(Array(r[k]).to_vector<bool>(), expected[k]) << k;
}

TEST(CloseVariables, AreOneKernelWithWhatStandsAroundThem) {
  const Variable x = matrix("x"), y = matrix("y");
  const Function f = function({x, y}, {allclose(exp(x), y)}, {.device = Device("null")});
  int kernels = 0;
  for (NodeId node : f.graph().nodes()) kernels += f.graph().op(node).inner_graph() != nullptr;
  EXPECT_EQ(kernels, 1);
  EXPECT_THAT(testing::error_of([&] { isclose(x, y, -1); }), ::testing::HasSubstr("isclose: the tolerances are -1"));
  EXPECT_THAT(testing::error_of([&] { allclose(x, y, 0, NAN); }), ::testing::HasSubstr("allclose: the tolerances are 0"));
}

DAMO_ON_EACH_DEVICE(Comparisons);

}  // namespace
}  // namespace damo
