// Rewriting keeps values: the same expressions with and without rules, on values where rules go wrong first.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/damo.hpp>
#include "support/devices.hpp"

namespace damo {
namespace {

using testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
constexpr float kInfinity = std::numeric_limits<float>::infinity(), kNaN = std::numeric_limits<float>::quiet_NaN();

class Rewriting : public testing::OnEachDevice {
 protected:
  Array specials() const { return array({0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -2.5f, 3e38f, -3e38f, 1e-40f, -1e-40f, 7.25f, kInfinity, -kInfinity, kNaN}); }
  template <class... Arrays>
  std::vector<std::vector<double>> results(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, Options options, const Arrays&... arrays) const {
    options.device = device();
    options.allow_unused_inputs = true;
    const Function f = function(inputs, outputs, options);
    std::vector<std::vector<double>> all;
    for (const Array& array : f(arrays...)) all.push_back(array.to_doubles());
    return all;
  }
  /// Bit for bit, but for NaN's sign and payload.
  static void expect_same(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].size(), b[i].size()) << "result " << i;
      for (std::size_t k = 0; k < a[i].size(); ++k) {
        const bool same = (std::isnan(a[i][k]) && std::isnan(b[i][k])) || (a[i][k] == b[i][k] && std::signbit(a[i][k]) == std::signbit(b[i][k]));
        EXPECT_TRUE(same) << "result " << i << ", element " << k << ": " << a[i][k] << " and " << b[i][k];
      }
    }
  }
};

TEST_P(Rewriting, OfExactRulesKeepsEveryBitOfFloats) {
  const Variable x = vector("x"), y = vector("y");
  const std::vector<Variable> outputs = {x * 1.0, x + 0.0, x - 0.0, x + -0.0, 0.0 - x, -(-x), abs(-x), sqr(-x), x * -1.0, x / -1.0, -x * 3.0, x + -y, -x + y, x - -y, -x * -y, -x / -y,
                                         (x * 2.0) * 4.0, (x * 0.5) * 0.5, (x * 3.0) * 7.0, maximum(x, x), exp(x) + 0.0, x * x, floor(floor(x)), relu(relu(x)), cast(cast(x, float64), float32),
                                         second(x, 2.0) * 3.0 + 1.0, second(exp(x), 2.0) * y, pow(x, 1.0), pow(x, 0.0), subtensor(abs(x), {{2, 9}}) * 1.5, where(lt(x, y), x, x)};
  const Array reversed = specials().slice({{std::nullopt, std::nullopt, -1}});
  expect_same(results({x, y}, outputs, {}, specials(), reversed), results({x, y}, outputs, {.rewrite = false}, specials(), reversed));
}

TEST_P(Rewriting, OfExactRulesKeepsEveryBitOfIntegers) {
  const Variable n = vector("n", int32), s = vector("s", int8), u = vector("u", uint8);
  const std::vector<Variable> outputs = {(n * 3) * 7, (n + 3) + 2147483647, n - -n, -n + 5, n * -1, abs(-n), sqr(-n), pow(n, 2), pow(n, 3), floor(n), int_div(n, 1), n + -cast(s, int32), n + -s,
                                         cast(cast(n, float64), int8), cast(cast(n, float64), int32), cast(cast(s, int64), uint8), cast(cast(u, int16), float16), -(-u), u + -u, u * u, ~(~n)};
  const std::vector<std::int32_t> values = {0, 1, -1, 7, 1000, -1000, 2147483647, -2147483647 - 1};
  const Array a = Array::from(values, {8}, device());
  const std::vector<Array> in = {a, astype(a, int8), astype(a, uint8)};
  expect_same(results({n, s, u}, outputs, {}, in[0], in[1], in[2]), results({n, s, u}, outputs, {.rewrite = false}, in[0], in[1], in[2]));
}

TEST_P(Rewriting, ComputesFillsInTheDtypeThatTheyHave) {
  const Variable x = vector("x", float64), n = vector("n", int32), k = scalar("k", uint32), half = constant(Scalar(Half(0.1f)));
  const Variable narrow = constant(Scalar(std::int8_t{100}));
  const std::vector<Variable> outputs = {sqr(second(x, k)), -second(x, k), second(x, k) - constant(Scalar(std::uint32_t{7})), sqr(second(n, narrow)), second(n, narrow) * narrow,
                                         second(x, half) / half, exp(second(x, half)), sum(sqr(second(x, k)))};
  const Array a = Array::from(std::vector<double>{1, 2}, {2}, device()), b = Array::from(std::vector<std::int32_t>{3, 4}, {2}, device()), c = Array::scalar(std::uint32_t{3899439664u}, device());
  const double square = 3899439664.0 * 3899439664.0, tenth = static_cast<float>(Half(0.1f));
  const auto got = results({x, n, k}, outputs, {}, a, b, c);
  const double expected[] = {square, -3899439664.0, 3899439657.0, 10000, 10000, 1, std::exp(tenth), 2 * square};
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_THAT(got[i], ::testing::Each(::testing::DoubleNear(expected[i], 4e-16 * std::fabs(expected[i])))) << "result " << i;
}

/// Expressions of what rules look for: numbers, signs, views, fills, pairs of inverse functions.
class RandomExpression {
 public:
  RandomExpression(unsigned seed, const Variable& x, const Variable& y) : random_(seed), values_{x, y} {
    for (int i = 0; i < 14; ++i) values_.push_back(next());
  }
  const Variable& last() const { return values_.back(); }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  const Variable& near() { return values_[values_.size() - 1 - pick(std::min<std::size_t>(values_.size(), 4))]; }
  double number() {
    static constexpr double kNumbers[] = {1, 0, -0.0, -1, 2, 4, 0.5, 3};
    return kNumbers[pick(std::size(kNumbers))];
  }
  Variable next() {
    const Variable &a = near(), &b = near();
    switch (pick(22)) {
      case 0: return a + number();
      case 1: return number() + a;
      case 2: return a - number();
      case 3: return number() - a;
      case 4: return a * number();
      case 5: return a / number();
      case 6: return -a;
      case 7: return abs(a);
      case 8: return sqr(a);
      case 9: return a + b;
      case 10: return a - b;
      case 11: return a * b;
      case 12: return a / b;
      case 13: return maximum(a, b);
      case 14: return transpose(transpose(a) * number());
      case 15: return second(a, number());
      case 16: return grad(sum(a * b), a);
      case 17: return exp(a);
      case 18: return cast(cast(a, float64), float32);
      case 19: return reshape(a, {-1, 2});
      case 20: return where(lt(a, number()), a, b);
      default: return subtensor(a, {{}, {std::nullopt, std::nullopt, -1}});
    }
  }
  std::mt19937 random_;
  std::vector<Variable> values_;
};

TEST_P(Rewriting, OfRandomExpressionsKeepsEveryBitByExactRules) {
  const std::vector<std::string> others = {"to_log1p", "to_expm1", "to_softplus", "to_log_of_inverse", "to_sigmoid", "to_complement", "to_logaddexp", "to_logsumexp", "to_softmax", "to_log_softmax", "drop_softmax_quotient", "to_softmax_gradient", "drop_softmax_shift", "to_sigmoid_slope", "drop_sigmoid_quotient", "specialise_power"};
  const Array a = array({0.0f, -0.0f, 1.0f, -1.0f, 0.5f, -2.5f, 3e38f, -3e38f, 1e-40f, kInfinity, -kInfinity, kNaN}, {6, 2});
  const Array b = array({1.0f, -1e-40f, kInfinity, 2.0f, -0.0f, kNaN, 0.25f, 7.0f, -3.0f, -kInfinity, 0.0f, 1.0f}, {6, 2});
  const char* text = std::getenv("REWRITE_GRAPHS");
  for (unsigned seed = 0, count = text ? static_cast<unsigned>(std::atoi(text)) : 40; seed < count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Shape dims = seed % 2 == 0 ? Shape{kUnknown, 2} : Shape{6, 2};
    const Variable x = input({float32, dims}, "x"), y = input({float32, dims}, "y");
    const RandomExpression expression(seed, x, y);
    expect_same(results({x, y}, {expression.last()}, {.fuse = false, .disable = others}, a, b), results({x, y}, {expression.last()}, {.fuse = false, .rewrite = false}, a, b));
  }
}

TEST_P(Rewriting, GivesWhatAnExpressionMeansWhereItsPartsOverflow) {
  const Variable x = vector("x");
  const std::vector<float> values = {-1000, -100, -20, -1e-10f, 0, 1e-10f, 1, 20, 100, 1000};
  const Variable s = sigmoid(x);
  const auto got = results({x}, {log(1.0 + exp(x)), 1.0 / (1.0 + exp(-x)), log(s), log(1.0 - s), exp(x) - 1.0, log(1.0 + x * x), exp(x) / (1.0 + exp(x)), log(exp(x)), 1.0 - exp(x)}, {}, array(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double v = values[i], softplus = std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)));
    const double expected[] = {softplus, 1 / (1 + std::exp(-v)), v - softplus, -softplus, std::expm1(v), std::log1p(v * v), 1 / (1 + std::exp(-v)), v, -std::expm1(v)};
    for (std::size_t k = 0; k < got.size(); ++k) {
      const double want = std::fabs(expected[k]) > 3.4e38 ? std::copysign(HUGE_VAL, expected[k]) : expected[k];
      if (std::isinf(want)) EXPECT_EQ(got[k][i], want) << "result " << k << " at " << v;
      else EXPECT_NEAR(got[k][i], want, 4e-7 * std::fabs(want) + 2e-38) << "result " << k << " at " << v;
    }
  }
}

TEST_P(Rewriting, KeepsRowsOfExponentialsFinite) {
  const Variable x = matrix("x"), labels = matrix("labels");
  const Variable p = exp(x) / sum(exp(x), 1, true), loss = -sum(labels * log(p));
  const Array values = array({1000, 999, 0, -1000, -1000, -1001}, {2, 3}), wanted = array({1, 0, 0, 0, 1, 0}, {2, 3});
  const auto got = results({x, labels}, {log(sum(exp(x), 1)), p, loss, grad(loss, x), grad(sum(log(sum(exp(x), 1))), x)}, {}, values, wanted);
  const double near = std::log1p(std::exp(-1.0)), share = 1 / (1 + std::exp(-1.0)), two = 2 + std::exp(-1.0);
  EXPECT_THAT(got[0], ::testing::Pointwise(::testing::DoubleNear(1e-3), {1000 + near, -1000 + std::log(two)}));
  const std::vector<double> softmax = {share, 1 - share, 0, 1 / two, 1 / two, std::exp(-1.0) / two};
  EXPECT_THAT(got[1], ::testing::Pointwise(::testing::DoubleNear(1e-6), softmax));
  EXPECT_NEAR(got[2][0], near + std::log(two), 1e-5);
  EXPECT_THAT(got[3], ::testing::Pointwise(::testing::DoubleNear(1e-6), {share - 1, 1 - share, 0.0, softmax[3], softmax[4] - 1, softmax[5]}));
  EXPECT_THAT(got[4], ::testing::Pointwise(::testing::DoubleNear(1e-6), softmax));
}

TEST_P(Rewriting, TakesGradientsOfASoftmaxWrittenInPlainOps) {
  const Variable x = matrix("x"), g = matrix("g"), e = exp(x - max(x, 1, keepdims)), p = e / sum(e, 1, keepdims);
  const Array values = array({0.5f, 0.5f, -2, -kInfinity, 3, 1, 3, 80, -80, 0, 1, 2}, {4, 3}), by = array({1, 2, 3, 4, 5, -6, 0, 1e30f, 1, -1, 2, 0.25f}, {4, 3});
  const auto got = results({x, g}, {grad(sum(p * g), x)}, {}, values, by);
  for (std::size_t row = 0; row < 4; ++row) {
    double greatest = -HUGE_VAL, sum = 0, dot = 0, shares[3];
    const auto at = [&](std::size_t k) { return 3 * row + k; };
    const std::vector<double> v = values.to_doubles(), by_row = by.to_doubles();
    for (std::size_t k = 0; k < 3; ++k) greatest = std::max(greatest, v[at(k)]);
    for (std::size_t k = 0; k < 3; ++k) sum += shares[k] = std::exp(v[at(k)] - greatest);
    for (std::size_t k = 0; k < 3; ++k) dot += by_row[at(k)] * (shares[k] /= sum);
    for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(got[0][at(k)], (by_row[at(k)] - dot) * shares[k], 4e-7 * (std::fabs(by_row[at(k)]) + std::fabs(dot)) * shares[k] + 1e-6) << "row " << row << ", element " << k;
  }
}

TEST_P(Rewriting, KeepsGradientsOfLogarithmsOfSigmoidsFinite) {
  const Variable x = vector("x"), t = vector("t");
  const auto cost = [&](const Variable& p) { return -sum(t * log(p) + (1.0 - t) * log(1.0 - p)); };
  const Variable s = sigmoid(x);
  std::vector<Variable> outputs;
  for (const Variable& p : {s, 1.0 / (1.0 + exp(-x)), reciprocal(1.0 + exp(-x)), exp(x) / (1.0 + exp(x)), exp(x) / (exp(x) + 1.0)}) outputs.push_back(grad(cost(p), x));
  outputs.push_back(grad(sum(log(s)), x));
  outputs.push_back(grad(log(sum(exp(x))), x));
  const std::vector<float> values = {-1000, -200, -1, 0, 2, 20, 40, 200, 1000, -1000, 200, 1000}, wanted = {0, 1, 0.25f, 1, 0, 0.5f, 0, 0, 1, 1, 1, 0};
  const auto got = results({x, t}, outputs, {}, array(values), array(wanted));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double p = 1 / (1 + std::exp(-static_cast<double>(values[i])));
    for (std::size_t k = 0; k < 5; ++k) EXPECT_NEAR(got[k][i], p - wanted[i], 1e-6) << "result " << k << " at " << values[i];
    EXPECT_NEAR(got[5][i], 1 - p, 1e-6) << "at " << values[i];
    EXPECT_NEAR(got[6][i], values[i] == 1000 ? 0.5 : 0.0, 1e-6) << "at " << values[i];
  }
}

TEST_P(Rewriting, KeepsSumsOfTwoExponentialsFinite) {
  const Variable x = vector("x"), y = vector("y"), both = log(exp(x) + exp(y));
  const std::vector<float> a = {1000, -1000, 1000, 3, -200, 0, -kInfinity, kInfinity, -kInfinity}, b = {999, -1000, 1000, 1, 200, 0, 2, 5, -kInfinity};
  const auto got = results({x, y}, {both, grad(sum(both), x), grad(sum(both), y)}, {}, array(a), array(b));
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double most = std::max(a[i], b[i]), want = a[i] == b[i] ? a[i] + std::log(2.0) : most + std::log1p(std::exp(-std::fabs(static_cast<double>(a[i]) - b[i])));
    if (std::isinf(want)) EXPECT_EQ(got[0][i], want) << i;
    else EXPECT_NEAR(got[0][i], want, 1e-6 * std::max(1.0, std::fabs(want))) << i;
    if (i + 1 == a.size()) continue;  // the slope where both are -inf is none
    const double share = 1 / (1 + std::exp(static_cast<double>(b[i]) - a[i]));
    EXPECT_NEAR(got[1][i], share, 1e-6) << i;
    EXPECT_NEAR(got[2][i], 1 - share, 1e-6) << i;
  }
}

TEST_P(Rewriting, KeepsGradientsOfSaturatedQuotientsFinite) {
  const Variable x = vector("x", float64), w = vector("w", float64), e = exp(x);
  const Variable sigmoids[] = {e / (1 + e), e * (1 / (1 + e)), reciprocal(1 + exp(-x)), 1 - 1 / (1 + exp(x))};
  std::vector<Variable> outputs;
  for (const Variable& s : sigmoids) outputs.insert(outputs.end(), {s, grad(sum(w * s), x)});
  const Variable swish = x * e / (1 + e), shares = e / sum(e);
  outputs.insert(outputs.end(), {swish, grad(sum(w * swish), x), shares, grad(sum(w * shares), x)});
  const std::vector<double> values = {-800, -1, 0, 1, 30, 800}, weights = {1, 2, 3, 4, 5, 6};
  const auto got = results({x, w}, outputs, {}, Array::from(values, device()), Array::from(weights, device()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double s = 1 / (1 + std::exp(-values[i])), slope = s * (1 / (1 + std::exp(values[i])));
    for (std::size_t k = 0; k < 8; k += 2) {
      EXPECT_NEAR(got[k][i], s, 1e-15) << "sigmoid " << k / 2 << " at " << values[i];
      EXPECT_NEAR(got[k + 1][i], weights[i] * slope, 1e-14) << "gradient " << k / 2 << " at " << values[i];
    }
    EXPECT_NEAR(got[8][i], values[i] * s, 1e-13);
    EXPECT_NEAR(got[9][i], weights[i] * (s + values[i] * slope), 1e-13);
    EXPECT_EQ(got[10][i], values[i] == 800 ? 1 : 0);
    EXPECT_EQ(got[11][i], 0);
  }
}

TEST_P(Rewriting, OfARowWithoutElementsStaysWhatItWas) {
  const Variable x = matrix("x");
  const std::vector<Variable> outputs = {log(sum(exp(x), 1)), exp(x) / sum(exp(x), 1, true)};
  const Array empty = Array::from(std::vector<float>{}, {2, 0}, device());
  const auto got = results({x}, outputs, {}, empty);
  expect_same(got, results({x}, outputs, {.rewrite = false}, empty));
  EXPECT_EQ(got[0], (std::vector<double>{-HUGE_VAL, -HUGE_VAL}));
}

TEST_P(Rewriting, LosesNoErrorOfShapes) {
  const Variable x = vector("x"), y = vector("y");
  const Function f = function({x, y}, {grad(sum(x * y), x)}, {.device = device()});
  EXPECT_THAT(error_of([&] { f(range({3}), range({4})); }), HasSubstr("3"));
  const Function g = function({x, y}, {subtensor(x + y, {{0, 2}}) * 2.0}, {.device = device()});
  EXPECT_THAT(error_of([&] { g(range({3}), range({4})); }), HasSubstr("3"));
}

TEST_P(Rewriting, IsSwitchedOffByNameAndToldByExplain) {
  const Variable x = vector("x");
  const Function f = function({x}, {log(1.0 + exp(x))}, {.device = device()});
  EXPECT_THAT(f.explain(), HasSubstr("to_softplus: 1 time in "));
  const Function g = function({x}, {log(1.0 + exp(x))}, {.disable = {"to_softplus"}, .device = device()});
  EXPECT_THAT(g.explain(), ::testing::Not(HasSubstr("to_softplus")));
  EXPECT_THAT(g.explain(), HasSubstr("to_log1p: 1 time in "));
}

TEST(Disabling, RefusesANameThatNoPassAndNoRuleHas) {
  const Variable x = vector("x");
  const auto error = [&](const std::string& name, std::vector<Pass> passes = {}) {
    Options options{.disable = {name}, .device = Device("null")};
    options.passes = std::move(passes);
    return error_of<OptionError>([&] { function({x}, {log(1.0 + exp(x))}, options); });
  };
  EXPECT_THAT(error("fuse_elementwis"), AllOf(HasSubstr("Options::disable names 'fuse_elementwis', which is no pass or rule of this function"), HasSubstr("the nearest is fuse_elementwise; the passes are merge_duplicates, simplify, ")));
  EXPECT_THAT(error("to_softplux"), HasSubstr("the nearest is to_softplus; "));
  EXPECT_THAT(error("nothing_like_it"), AllOf(HasSubstr("names 'nothing_like_it'"), HasSubstr("docs/rewrites.md lists the rules"), Not(HasSubstr("nearest"))));
  EXPECT_THAT(error("replay"), HasSubstr("Options::replay = false"));
  EXPECT_THAT(error("side_by_side"), HasSubstr("DAMO_DISABLE=side_by_side"));
  EXPECT_THAT(error("join_moments"), HasSubstr("DAMO_DISABLE=join_moments"));
  EXPECT_THAT(error("join_exponentials"), HasSubstr("DAMO_DISABLE=join_exponentials"));
  const Pass own{.name = "my_pass", .rules = {Rule{.name = "my_rule", .rewrite = [](Site&) { return Variable(); }}}};
  for (const char* name : {"regroup_numbers", "use_tf32", "simplify", "to_softplus", "my_pass", "my_rule"}) EXPECT_EQ(error(name, {own}), "nothing thrown") << name;
  EXPECT_THAT(error("my_rul", {own}), HasSubstr("the nearest is my_rule"));
}

TEST_P(Rewriting, IsSwitchedOffWhereShapesAreForwardedToo) {  // the count of mean's gradient is, after which the rules run once more
  const Variable x = vector("x");
  const auto all = results({x}, {log(1.0 + x), grad(mean(sqr(x)), x)}, {.disable = {"simplify"}}, array({1e-9f, 1e-9f}));
  EXPECT_EQ(all[0], (std::vector<double>{0, 0}));  // log1p gives 1e-9
  EXPECT_EQ(all[1], (std::vector<double>{1e-9f, 1e-9f}));
}

DAMO_ON_EACH_DEVICE(Rewriting);

}  // namespace
}  // namespace damo
