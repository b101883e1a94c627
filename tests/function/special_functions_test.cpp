// Gamma, error functions and their kin against values of mpmath, integers' shifts and remainders against NumPy's rules, logic and signs; of Variables and
// of Arrays. Errors over whole ranges: rows_table_test.cpp and ops/cpu/rows_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <damo/array_math.hpp>
#include <damo/function.hpp>
#include <damo/gradient.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
constexpr double kAbove = std::numeric_limits<double>::infinity(), kUndefined = std::numeric_limits<double>::quiet_NaN();

class SpecialFunctions : public testing::OnEachDevice {
 protected:
  template <class T>
  Array of(const std::vector<T>& values) const { return Array::from(values, device()); }
};

struct KnownValue {
  const char* row;
  double x, y;  ///< of rows of two inputs the first is the order
  double value;
};

// mpmath 1.3 with 40 digits: psi(n, x) and its series, gamma, loggamma's real part, erfinv, exp(x^2) erfc(x).
const KnownValue kKnownValues[] = {
    {"psi", 0.1, 0, -10.423754940411076},
    {"psi", 0.5, 0, -1.9635100260214235},
    {"psi", 1.25, 0, -0.22745353337626542},
    {"psi", 1.4616321449683622, 0, -9.241265521729427e-17},
    {"psi", 1.461669921875, 0, 3.6555032221103286e-05},
    {"psi", 2.5, 0, 0.7031566406452432},
    {"psi", 9.75, 0, 2.225109535044576},
    {"psi", 10.5, 0, 2.3030010342976865},
    {"psi", 10000000000.0, 0, 23.025850929890456},
    {"psi", -0.5, 0, 0.03648997397857652},
    {"psi", -1.25, 0, 3.714139120213528},
    {"psi", -20.75, 0, -0.08514352173418716},
    {"trigamma", 0.01, 0, 10001.621213528313},
    {"trigamma", 0.5, 0, 4.934802200544679},
    {"trigamma", 3.0, 0, 0.39493406684822646},
    {"trigamma", 9.96875, 0, 0.10551277951365103},
    {"trigamma", 20.5, 0, 0.04998959242996099},
    {"trigamma", 100000000.0, 0, 1.000000005e-08},
    {"trigamma", -0.5, 0, 8.934802200544679},
    {"trigamma", -3.25, 0, 19.474085068082154},
    {"polygamma", 0.25, 0, -4.2274535333762655},
    {"polygamma", 1.0, 0, -0.5772156649015329},
    {"polygamma", 4.5, 0, 1.388870926359529},
    {"polygamma", 30.0, 0, 3.384438132685525},
    {"polygamma", 0.25, 1, 17.19732915450711},
    {"polygamma", 1.0, 1, 1.6449340668482264},
    {"polygamma", 4.5, 1, 0.24872510303901038},
    {"polygamma", 30.0, 1, 0.033895060357739946},
    {"polygamma", 0.25, 2, -129.32773993753693},
    {"polygamma", 1.0, 2, -2.4041138063191885},
    {"polygamma", 4.5, 2, -0.061556821321027695},
    {"polygamma", 30.0, 2, -0.0011487652037286},
    {"polygamma", 0.25, 3, 1538.7821440091884},
    {"polygamma", 1.0, 3, 6.493939402266829},
    {"polygamma", 4.5, 3, 0.030322508542366587},
    {"polygamma", 30.0, 3, 7.78600366473613e-05},
    {"polygamma", 0.25, 5, 491552.5137676813},
    {"polygamma", 1.0, 5, 122.0811674381339},
    {"polygamma", 4.5, 5, 0.0217702556694113},
    {"polygamma", 30.0, 5, 1.0726994936161623e-06},
    {"polygamma", 0.25, 10, -15220290667405.55},
    {"polygamma", 1.0, 10, -3630593.311606629},
    {"polygamma", 4.5, 10, -0.2681931239535166},
    {"polygamma", 30.0, 10, -7.232051034585708e-10},
    {"polygamma", 0.25, 20, -1.070001618891921e+31},
    {"polygamma", 1.0, 20, -2.4329031685078615e+18},
    {"polygamma", 4.5, 20, -47340.82936317666},
    {"polygamma", 30.0, 20, -4.786085204571764e-13},
    {"polygamma", -0.25, 1, 18.541879647671607},
    {"polygamma", -3.75, 1, 19.504980060599575},
    {"polygamma", -0.25, 2, 122.69736678366236},
    {"polygamma", -3.75, 2, -124.07972713378925},
    {"polygamma", -0.25, 3, 1555.7633125348507},
    {"polygamma", -3.75, 3, 1558.5200920240343},
    {"gamma", 0.25, 0, 3.625609908221908},
    {"gamma", 4.5, 0, 11.631728396567448},
    {"gamma", 20.0, 0, 1.21645100408832e+17},
    {"gamma", -1.5, 0, 2.363271801207355},
    {"gamma", -2.25, 0, -1.7428148657282527},
    {"gammaln", 0.125, 0, 2.0194183575537963},
    {"gammaln", 1.5, 0, -0.12078223763524522},
    {"gammaln", 2.25, 0, 0.1248717148923966},
    {"gammaln", 100.0, 0, 359.1342053695754},
    {"gammaln", 10000000000.0, 0, 220258509288.81058},
    {"gammaln", -0.5, 0, 1.2655121234846454},
    {"erfinv", 1e-10, 0, 8.862269254527581e-11},
    {"erfinv", 0.25, 0, 0.2253120550121781},
    {"erfinv", -0.75, 0, -0.8134198475976185},
    {"erfinv", 0.9999847412109375, 0, 3.058179581850916},
    {"erfcinv", 1e-20, 0, 6.601580622355143},
    {"erfcinv", 0.5, 0, 0.4769362762044699},
    {"erfcinv", 1.25, 0, -0.2253120550121781},
    {"erfcinv", 1.9375, 0, -1.3171503349861307},
    {"erfcx", -3.5, 0, 417962.4224457703},
    {"erfcx", 0.25, 0, 0.7703465477309968},
    {"erfcx", 5.0, 0, 0.11070463773306863},
    {"erfcx", 24.5, 0, 0.023009011874778183},
    {"erfcx", 30.0, 0, 0.01879588886141675},
    {"erfcx", 1000000.0, 0, 5.641895835474742e-07},
};

TEST_P(SpecialFunctions, AreWhatMpmathSays) {
  for (const KnownValue& known : kKnownValues) {
    const ElementwiseRow& row = *find_elementwise(known.row);
    const bool has_order = arity(row) == 2;
    const auto get = [&](const Array& order, const Array& x) { return (has_order ? apply_elementwise(row, {order, x}) : apply_elementwise(row, {x})).item().as_double(); };
    const double got = get(of<double>({known.y}), of<double>({known.x}));
    const auto bound = [&](double unit) { return (row.ulp + (has_order ? known.y : 0) + 1) * unit * std::max(std::fabs(known.value), known.x < 0 ? 4.0 : 0.0); };  // zeros lie below 0
    if (std::isfinite(known.value)) EXPECT_NEAR(got, known.value, bound(0x1p-52)) << known.row << " of " << known.x << ", order " << known.y;
    else EXPECT_EQ(got, known.value) << known.row << " of " << known.x;
    const float x = static_cast<float>(known.x);
    if (static_cast<double>(x) != known.x || std::fabs(known.value) > 1e38 || std::fabs(known.value) < 1e-37) continue;
    EXPECT_NEAR(get(of<float>({static_cast<float>(known.y)}), of<float>({x})), known.value, bound(0x1p-23)) << known.row << " of float " << known.x;
  }
}

TEST_P(SpecialFunctions, HaveTheirPolesAndEnds) {
  const auto values = [&](const char* row, const std::vector<double>& x) { return apply_elementwise(*find_elementwise(row), {of(x)}).to_doubles(); };
  const auto expect = [&](const char* row, const std::vector<double>& x, const std::vector<double>& want) {
    const auto got = values(row, x);
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))) << row << " of " << x[i] << " is " << got[i];
  };
  expect("gamma", {0, -0.0, -1, -7, kAbove, -kAbove, kUndefined}, {kAbove, -kAbove, kUndefined, kUndefined, kAbove, kUndefined, kUndefined});
  expect("gammaln", {0, -3, 1, 2, kAbove, -kAbove, kUndefined}, {kAbove, kAbove, 0, 0, kAbove, kAbove, kUndefined});
  expect("psi", {0, -0.0, -1, -7, kAbove, -kAbove, kUndefined}, {-kAbove, kAbove, kUndefined, kUndefined, kAbove, kUndefined, kUndefined});
  expect("trigamma", {0, -0.0, -1, kAbove, -kAbove, kUndefined}, {kAbove, kAbove, kAbove, 0, kUndefined, kUndefined});
  expect("erfinv", {-1, 1, 1.5, -2, 0, kUndefined}, {-kAbove, kAbove, kUndefined, kUndefined, 0, kUndefined});
  expect("erfcinv", {0, 2, 1, -0.5, 2.5, kUndefined}, {kAbove, -kAbove, 0, kUndefined, kUndefined, kUndefined});
  expect("erfcx", {0, kAbove, -kAbove, -30, kUndefined}, {1, 0, kAbove, kAbove, kUndefined});
  const auto of_order = [&](double n, double x) { return polygamma(of<double>({n}), of<double>({x})).item().as_double(); };
  EXPECT_TRUE(std::isnan(of_order(0.5, 2)) && std::isnan(of_order(-1, 2)) && std::isnan(of_order(171, 2)) && std::isnan(of_order(1, kUndefined)));
  EXPECT_EQ(of_order(3, -2), kAbove);
  EXPECT_EQ(of_order(2, 0), -kAbove);
}

TEST_P(SpecialFunctions, OfHalfPrecisionAreComputedInFloat32AndRoundedOnce) {
  const Array x = astype(of<double>({0.125, 0.75, 3.5, 9}), float16);
  for (const char* row : {"gamma", "gammaln", "psi", "trigamma", "erfcx"}) {
    const Array wide = apply_elementwise(*find_elementwise(row), {astype(x, float32)}), half = apply_elementwise(*find_elementwise(row), {x});
    EXPECT_EQ(half.dtype(), float16);
    EXPECT_EQ(half.to_doubles(), astype(wide, float16).to_doubles()) << row;
  }
}

TEST_P(SpecialFunctions, ShiftsBeyondTheDtypeGiveNothing) {
  const auto x = vector("x", int8), y = vector("y", int8);
  const Function f = function({x, y}, {x << y, x >> y}, {.device = device()});
  const Array values = of<std::int8_t>({5, -5, 5, -5, 5, -5, 1, -128, 127}), counts = of<std::int8_t>({1, 1, 8, 8, -1, -1, 7, 7, 100});
  const Results results = f(values, counts);
  EXPECT_THAT(results[0].to_vector<std::int8_t>(), ElementsAre(10, -10, 0, 0, 0, 0, -128, 0, 0));
  EXPECT_THAT(results[1].to_vector<std::int8_t>(), ElementsAre(2, -3, 0, -1, 0, -1, 0, -1, 0));
  EXPECT_EQ((values << counts).to_vector<std::int8_t>(), results[0].to_vector<std::int8_t>());
  EXPECT_THAT((of<std::uint64_t>({1, 3, ~0ull}) << of<std::uint64_t>({63, 64, 1})).to_vector<std::uint64_t>(), ElementsAre(1ull << 63, 0, ~0ull - 1));
  EXPECT_THAT((of<std::uint32_t>({~0u, ~0u}) >> 31).to_vector<std::uint32_t>(), ElementsAre(1, 1));
  EXPECT_THAT(error_of([&] { left_shift(gt(x, 0), gt(x, 1)); }), HasSubstr("left_shift takes integers, not bool"));
  EXPECT_THAT(error_of([&] { right_shift(of<float>({1}), 2); }), HasSubstr("right_shift takes integers, not float32"));
}

TEST_P(SpecialFunctions, FmodHasTheSignOfTheFirst) {
  EXPECT_THAT(fmod(of<int>({7, -7, 7, -7, 5, std::numeric_limits<int>::min()}), of<int>({3, 3, -3, -3, 0, -1})).to_vector<int>(), ElementsAre(1, -1, 1, -1, 0, 0));
  EXPECT_THAT(fmod(of<double>({7.5, -7.5, 7.5}), of<double>({2, 2, -2})).to_vector<double>(), ElementsAre(1.5, -1.5, 1.5));
  EXPECT_TRUE(std::isnan(fmod(of<double>({1}), 0).item().as_double()));
  EXPECT_THAT(error_of([&] { fmod(gt(of<float>({1}), 0), true); }), HasSubstr("fmod takes numbers, not bool"));
}

TEST_P(SpecialFunctions, LogicAndSignsTakeEveryDtype) {
  const Array x = of<float>({0, -0.0f, 2, static_cast<float>(kUndefined), static_cast<float>(-kAbove)});
  const auto bools = [](const Array& array) { return array.to_doubles(); };
  EXPECT_THAT(bools(logical_not(x)), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(bools(logical_and(x, 1)), ElementsAre(0, 0, 1, 1, 1)) << "NaN is not 0";
  EXPECT_THAT(bools(logical_or(x, 0)), ElementsAre(0, 0, 1, 1, 1));
  EXPECT_THAT(bools(logical_xor(x, 1)), ElementsAre(1, 1, 0, 0, 0));
  EXPECT_THAT(bools(isfinite(x)), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(bools(isfinite(of<int>({1, -1}))), ElementsAre(1, 1));
  EXPECT_THAT(bools(signbit(of<float>({-0.0f, 0, -2, static_cast<float>(-kAbove)}))), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(bools(signbit(of<std::int8_t>({-1, 0, 1}))), ElementsAre(1, 0, 0));
  EXPECT_THAT(bools(signbit(of<std::uint8_t>({200, 0}))), ElementsAre(0, 0));
  EXPECT_THAT(copysign(of<double>({1, -2, 0}), of<double>({-0.0, 3, -1})).to_vector<double>(), ElementsAre(-1, 2, -0.0));
  EXPECT_EQ(copysign(of<int>({1}), of<int>({-1})).dtype(), float64) << "NumPy's: it is of floats";
  EXPECT_EQ(logical_and(of<std::int8_t>({1}), of<double>({1})).dtype(), bool_);
}

TEST_P(SpecialFunctions, MaximumAndMinimumGiveTheGradientOfEqualsToTheFirst) {
  const auto x = vector("x", float64), y = vector("y", float64), low = vector("low", float64), high = vector("high", float64);
  const auto ones = second(x, 1.0);
  const auto of_max = lop({maximum(x, y)}, {ones}, {x, y}), of_min = lop({minimum(x, y)}, {ones}, {x, y}), of_clip = lop({clip(x, low, high)}, {ones}, {x, low, high});
  const Function f = function({x, y, low, high}, {of_max[0], of_max[1], of_min[0], of_min[1], of_clip[0], of_clip[1], of_clip[2]}, {.device = device()});
  const Results results = f(of<double>({1, 2, 3}), of<double>({1, 3, 2}), of<double>({1, 1, 1}), of<double>({1, 2, 2}));
  EXPECT_THAT(results[0].to_vector<double>(), ElementsAre(1, 0, 1));
  EXPECT_THAT(results[1].to_vector<double>(), ElementsAre(0, 1, 0));
  EXPECT_THAT(results[2].to_vector<double>(), ElementsAre(1, 1, 0));
  EXPECT_THAT(results[3].to_vector<double>(), ElementsAre(0, 0, 1));
  EXPECT_THAT(results[4].to_vector<double>(), ElementsAre(1, 1, 0)) << "x on both bounds, on the upper one, beyond";
  EXPECT_THAT(results[5].to_vector<double>(), ElementsAre(0, 0, 0));
  EXPECT_THAT(results[6].to_vector<double>(), ElementsAre(0, 0, 1));
}

TEST_P(SpecialFunctions, ErfcxHasAnExactSlopeWhereItsTermsCancel) {
  // mpmath, 30 digits: 2 x erfcx(x) - 2 / sqrt(pi)
  const std::vector<double> at = {-1, 0, 0.5, 4.0, 5.25, 6, 9.75, 10.25, 30, 798, 1e4}, slopes = {-11.14633932862008, -1.1283791670955126, -0.5126888229025867, -0.032383506095021455,
      -0.019445444672148649, -0.015060353489052321, -0.0058436614816109768, -0.0052951345599447542, -0.00062583541050748407, -8.8596845276908442e-7, -5.6418957508491212e-9};
  for (const DType dtype : {float32, float64}) {
    const Variable x = vector("x", dtype);
    const std::vector<double> found = function({x}, {grad(sum(erfcx(x)), x)}, {.device = device()})(astype(Array::from(at, device()), dtype))[0].to_doubles();
    for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(found[i] / slopes[i], 1, dtype == float32 ? 2e-5 : 5e-14) << name(dtype) << " " << at[i];
  }
}

DAMO_ON_EACH_DEVICE(SpecialFunctions);

}  // namespace
}  // namespace damo
