// CUDA's mathematics by the names that it has for floats alone (expf), in the code of rows: each on each device against the function of doubles.
#include <cmath>
#include <cstdint>
#include <functional>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include <damo/elementwise.hpp>

#include "support/devices.hpp"

namespace damo {
namespace {

enum class FloatDomain : std::uint8_t { kAny,
                                        kPositive,
                                        kUnit,
                                        kAboveOne };

struct FloatFunction {
  const char* code;
  FloatDomain of;
  std::function<double(double, double, double)> expected;
};

/// The x between low and high where f, which grows, is y.
template <class F>
double inverse_of_growing(F f, double y, double low, double high) {
  for (int i = 0; i < 200; ++i) (f((low + high) / 2) < y ? low : high) = (low + high) / 2;
  return low;
}
double normal_share(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

// clang-format off
const FloatFunction kFloatFunctions[] = {
#define DAMO_C(name, of) {#name "f(x0)", FloatDomain::of, [](double x, double, double) { return static_cast<double>(std::name(x)); }}
    DAMO_C(exp, kAny), DAMO_C(exp2, kAny), DAMO_C(expm1, kAny), DAMO_C(log, kPositive), DAMO_C(log2, kPositive), DAMO_C(log10, kPositive), DAMO_C(log1p, kPositive), DAMO_C(sqrt, kPositive),
    DAMO_C(cbrt, kAny), DAMO_C(sin, kAny), DAMO_C(cos, kAny), DAMO_C(tan, kUnit), DAMO_C(asin, kUnit), DAMO_C(acos, kUnit), DAMO_C(atan, kAny), DAMO_C(sinh, kAny), DAMO_C(cosh, kAny),
    DAMO_C(tanh, kAny), DAMO_C(asinh, kAny), DAMO_C(acosh, kAboveOne), DAMO_C(atanh, kUnit), DAMO_C(erf, kAny), DAMO_C(erfc, kAny), DAMO_C(tgamma, kPositive), DAMO_C(lgamma, kPositive),
    DAMO_C(floor, kAny), DAMO_C(ceil, kAny), DAMO_C(trunc, kAny), DAMO_C(round, kAny), DAMO_C(rint, kAny), DAMO_C(nearbyint, kAny), DAMO_C(fabs, kAny), DAMO_C(logb, kPositive),
    DAMO_C(ilogb, kPositive), DAMO_C(lrint, kAny), DAMO_C(llrint, kAny), DAMO_C(lround, kAny), DAMO_C(llround, kAny),
#undef DAMO_C
#define DAMO_C(name) {#name "f(x0, x1)", FloatDomain::kPositive, [](double x, double y, double) { return std::name(x, y); }}
    DAMO_C(pow), DAMO_C(atan2), DAMO_C(hypot), DAMO_C(fmod), DAMO_C(fmin), DAMO_C(fmax), DAMO_C(copysign), DAMO_C(fdim), DAMO_C(remainder),
#undef DAMO_C
#define DAMO_C(name) {#name "f(x0)", FloatDomain::kPositive, [](double x, double, double) { return ::name(x); }}
    DAMO_C(j0), DAMO_C(j1), DAMO_C(y0), DAMO_C(y1),
#undef DAMO_C
    {"jnf(2, x0)", FloatDomain::kPositive, [](double x, double, double) { return ::jn(2, x); }},
    {"ynf(2, x0 + 1.0f)", FloatDomain::kPositive, [](double x, double, double) { return ::yn(2, x + 1); }},
    {"fmaf(x0, x1, x2)", FloatDomain::kAny, [](double x, double y, double z) { return std::fma(x, y, z); }},
    {"rsqrtf(x0)", FloatDomain::kPositive, [](double x, double, double) { return 1 / std::sqrt(x); }},
    {"rcbrtf(x0)", FloatDomain::kPositive, [](double x, double, double) { return 1 / std::cbrt(x); }},
    {"rhypotf(x0, x1)", FloatDomain::kPositive, [](double x, double y, double) { return 1 / std::hypot(x, y); }},
    {"exp10f(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::pow(10, x); }},
    {"fdividef(x0, x1)", FloatDomain::kAny, [](double x, double y, double) { return x / y; }},
    {"nextafterf(x0, x1)", FloatDomain::kAny, [](double x, double y, double) { return static_cast<double>(std::nextafter(static_cast<float>(x), static_cast<float>(y))); }},
    {"ldexpf(x0, 3)", FloatDomain::kAny, [](double x, double, double) { return 8 * x; }},
    {"scalbnf(x0, -2)", FloatDomain::kAny, [](double x, double, double) { return x / 4; }},
    {"scalblnf(x0, 2L)", FloatDomain::kAny, [](double x, double, double) { return 4 * x; }},
    {"[](float x) { int e; const float m = frexpf(x, &e); return m + float(e); }(x0)", FloatDomain::kAny, [](double x, double, double) { int e; const double m = std::frexp(x, &e); return m + e; }},
    {"[](float x) { float whole; const float rest = modff(x, &whole); return rest + 2.0f * whole; }(x0)", FloatDomain::kAny, [](double x, double, double) { return x + std::trunc(x); }},
    {"[](float x, float y) { int q; const float r = remquof(x, y, &q); return r + float(q & 1); }(x0, x1)", FloatDomain::kPositive, [](double x, double y, double) { int q; const double r = std::remquo(x, y, &q); return r + (q & 1); }},
    {"[](float x) { float s, c; sincosf(x, &s, &c); return s + 2.0f * c; }(x0)", FloatDomain::kAny, [](double x, double, double) { return std::sin(x) + 2 * std::cos(x); }},
    {"[](float x) { float s, c; sincospif(x, &s, &c); return s + 2.0f * c; }(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::sin(std::numbers::pi * x) + 2 * std::cos(std::numbers::pi * x); }},
    {"sinpif(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::sin(std::numbers::pi * x); }},
    {"cospif(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::cos(std::numbers::pi * x); }},
    {"erfcxf(x0)", FloatDomain::kPositive, [](double x, double, double) { return std::exp(x * x) * std::erfc(x); }},
    {"erfinvf(x0)", FloatDomain::kUnit, [](double x, double, double) { return inverse_of_growing([](double y) { return std::erf(y); }, x, -6, 6); }},
    {"erfcinvf(x0 + 1.0f)", FloatDomain::kUnit, [](double x, double, double) { return inverse_of_growing([](double y) { return -std::erfc(y); }, -(x + 1), -6, 6); }},
    {"normcdff(x0)", FloatDomain::kAny, [](double x, double, double) { return normal_share(x); }},
    {"normcdfinvf(0.5f * x0 + 0.5f)", FloatDomain::kUnit, [](double x, double, double) { return inverse_of_growing(normal_share, 0.5 * x + 0.5, -9, 9); }},
    {"cyl_bessel_i0f(x0)", FloatDomain::kPositive, [](double x, double, double) { return std::cyl_bessel_i(0, x); }},
    {"cyl_bessel_i1f(x0)", FloatDomain::kPositive, [](double x, double, double) { return std::cyl_bessel_i(1, x); }},
    {"isnan(nanf(\"\")) ? x0 : 0.0f", FloatDomain::kAny, [](double x, double, double) { return x; }},
    {"norm3df(x0, x1, x2)", FloatDomain::kAny, [](double x, double y, double z) { return std::hypot(x, y, z); }},
    {"norm4df(x0, x1, x2, 2.0f)", FloatDomain::kAny, [](double x, double y, double z) { return std::hypot(std::hypot(x, y, z), 2); }},
    {"rnorm3df(x0, x1, x2)", FloatDomain::kAny, [](double x, double y, double z) { return 1 / std::hypot(x, y, z); }},
    {"rnorm4df(x0, x1, x2, 2.0f)", FloatDomain::kAny, [](double x, double y, double z) { return 1 / std::hypot(std::hypot(x, y, z), 2); }},
    {"[](float x, float y) { const float v[] = {x, y}; return normf(2, v); }(x0, x1)", FloatDomain::kAny, [](double x, double y, double) { return std::hypot(x, y); }},
    {"[](float x, float y) { const float v[] = {x, y}; return rnormf(2, v); }(x0, x1)", FloatDomain::kAny, [](double x, double y, double) { return 1 / std::hypot(x, y); }},
    {"__saturatef(x0)", FloatDomain::kAny, [](double x, double, double) { return std::fmin(std::fmax(x, 0), 1); }},
    {"__fdividef(x0, x1)", FloatDomain::kAny, [](double x, double y, double) { return x / y; }},
};

/// On a GPU of as few digits as the unit has.
const FloatFunction kQuickFloatFunctions[] = {
#define DAMO_C(name, of) {"__" #name "f(x0)", FloatDomain::of, [](double x, double, double) { return std::name(x); }}
    DAMO_C(exp, kUnit), DAMO_C(log, kAboveOne), DAMO_C(log2, kAboveOne), DAMO_C(log10, kAboveOne), DAMO_C(sin, kUnit), DAMO_C(cos, kUnit), DAMO_C(tan, kUnit),
#undef DAMO_C
    {"__exp10f(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::pow(10, x); }},
    {"__powf(x0, x1)", FloatDomain::kAboveOne, [](double x, double y, double) { return std::pow(x, y); }},
    {"[](float x) { float s, c; __sincosf(x, &s, &c); return s + 2.0f * c; }(x0)", FloatDomain::kUnit, [](double x, double, double) { return std::sin(x) + 2 * std::cos(x); }},
};
// clang-format on

class FloatNames : public testing::OnEachDevice {
 protected:
  /// Each alone, in one kernel, of 64 numbers.
  void expect(std::span<const FloatFunction> functions, double tolerance) {
    std::mt19937 random(3);
    std::vector<std::vector<float>> numbers;
    const auto draw = [&](float low, float high) {
      std::uniform_real_distribution<float> uniform(low, high);
      numbers.emplace_back();
      for (int i = 0; i < 64; ++i) numbers.back().push_back(uniform(random));
    };
    draw(-3, 3), draw(0.1f, 3), draw(-0.9f, 0.9f), draw(1.1f, 4);  // as FloatDomain has them
    draw(0.3f, 2), draw(-2, 2);
    std::vector<Variable> inputs, outputs;
    std::vector<Array> arrays;
    for (const std::vector<float>& of : numbers) inputs.push_back(input({float32, {64}})), arrays.push_back(Array::from(of, {64}, device()));
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const std::string code = functions[i].code;
      const Elementwise row({.name = "float_name_" + std::to_string(i), .code = code});
      const Variable& x = inputs[static_cast<std::size_t>(functions[i].of)];
      outputs.push_back(code.find("x2") != std::string::npos ? row(x, inputs[4], inputs[5]) : code.find("x1") != std::string::npos ? row(x, inputs[4])
                                                                                                                                   : row(x));
    }
    const Results results = function(inputs, outputs, {.device = device(), .allow_unused_inputs = true}).call(arrays);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const std::vector<float> found = results[i].to_vector<float>(), &x = numbers[static_cast<std::size_t>(functions[i].of)];
      for (std::size_t k = 0; k < 64; ++k) {
        const double expected = functions[i].expected(x[k], numbers[4][k], numbers[5][k]);
        EXPECT_NEAR(found[k], expected, tolerance * (1 + std::abs(expected))) << functions[i].code << " of " << x[k] << ", " << numbers[4][k] << ", " << numbers[5][k];
      }
    }
  }
};

TEST_P(FloatNames, AreFunctionsOfRows) { expect(kFloatFunctions, 3e-6); }
TEST_P(FloatNames, OfQuickFloatFunctionsAreFunctionsOfRows) { expect(kQuickFloatFunctions, 1e-4); }

/// Of a number that a float has no room for the name means the float's function, as in C.
TEST_P(FloatNames, ConvertTheirOperands) {
  const Elementwise row({.name = "float_name_of_doubles", .code = "sqrtf(x0)"});
  const Variable x = vector("x", float64);
  const double two = 2 + 1e-12;
  EXPECT_EQ(function({x}, {row(x)}, {.device = device()})(Array::from(std::vector<double>{two}, {1}, device()))[0].to_doubles()[0], static_cast<double>(std::sqrt(2.0f)));
}

DAMO_ON_EACH_DEVICE(FloatNames);

}  // namespace
}  // namespace damo
