// The graph that each rule makes. That values stay is tested in tests/function/rewrite_test.cpp and tests/random_graph.
#include "ops/rewrites/simplify.hpp"

#include <cstring>
#include <fstream>
#include <iterator>

#include <gmock/gmock.h>

#include <damo/gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/softmax.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/reduce_op.hpp"
#include "support/formula.hpp"

namespace damo {
namespace {

using damo::testing::formula;

class Simplify : public ::testing::Test {
 protected:
  std::string simplified(const Variable& output, bool reassociates = false) const {
    const Variable inputs[] = {x_, y_, v_, n_, b_, k_, h_}, outputs[] = {output};
    return formula(apply_rules(merge_duplicates(FunctionGraph(inputs, outputs, true)), simplification_rules(reassociates)));
  }
  const Variable x_ = matrix("x"), y_ = matrix("y"), v_ = vector("v"), n_ = matrix("n", int32), b_ = matrix("b", bool_), k_ = input({float32, {2, 3}}, "k"), h_ = matrix("h", float16);
};

TEST_F(Simplify, RepeatsAlongSeveralAxesAtOnce) {
  const auto copies = [&](const Variable& y) {
    const std::string text = simplified(y);
    int count = 0;
    for (std::size_t at = 0; (at = text.find("contiguous", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(simplified(repeat(repeat(x_, 2, 0), 3, 1)),
            "flatten[1, 2](flatten[0, 1](contiguous(broadcast_to[-1, -1, -1, 3](dimshuffle[0, 1, 2, -1](broadcast_to[-1, 2, -1](dimshuffle[0, -1, 1](x)))))))");
  EXPECT_EQ(copies(repeat(repeat(x_, 3, 1), 2, 0)), 1);
  EXPECT_EQ(copies(repeat(repeat(h_, 2, 0), 3, 1)), 2) << "of narrow elements";
  EXPECT_EQ(copies(repeat(repeat(h_, 3, 1), 2, 0)), 1);
  EXPECT_EQ(copies(repeat(transpose(repeat(x_, 3, 1)), 2, 1)), 1) << "turned in between";
  const Variable once = repeat(x_, 2, 0);
  EXPECT_EQ(copies(sum(repeat(once, 3, 1)) * sum(once)), 3) << "what is repeated once is read, too";
}

TEST_F(Simplify, DropsWhatChangesNothing) {
  EXPECT_EQ(simplified(x_ * 1.0), "x");
  EXPECT_EQ(simplified(1.0 * x_ / 1.0), "x");
  EXPECT_EQ(simplified(pow(x_, 1.0)), "x");
  EXPECT_EQ(simplified(n_ * 1 + 0), "n");
  EXPECT_EQ(simplified(x_ - 0.0), "x");
  EXPECT_EQ(simplified(x_ + -0.0), "x");
  EXPECT_EQ(simplified(exp(x_) + 0.0), "exp(x)");
  EXPECT_EQ(simplified(-(-x_)), "x");
  EXPECT_EQ(simplified(abs(abs(-x_))), "abs(x)");
  EXPECT_EQ(simplified(sqr(-abs(x_))), "sqr(x)");
  EXPECT_EQ(simplified(floor(n_)), "n");
  EXPECT_EQ(simplified(maximum(x_, x_)), "x");
  EXPECT_EQ(simplified(identity(consider_constant(x_))), "x");
  EXPECT_EQ(simplified(where(constant(Scalar(true)), x_, 0.0)), "x");
}

TEST_F(Simplify, LeavesWhatOnlySeemsToChangeNothing) {
  EXPECT_EQ(simplified(x_ + 0.0), "add(x, 0)") << "-0.0 + 0.0 is 0.0";
  EXPECT_EQ(simplified(x_ - -0.0), "sub(x, -0)") << "-0.0 - -0.0 is 0.0";
  EXPECT_EQ(simplified(x_ / x_), "true_div(x, x)") << "NaN for 0";
  EXPECT_EQ(simplified(x_ - x_), "sub(x, x)") << "NaN for inf";
  EXPECT_EQ(simplified(x_ * 0.0), "mul(x, 0)") << "NaN for inf";
  EXPECT_EQ(simplified(exp(log(x_))), "exp(log(x))") << "NaN below 0";
  EXPECT_EQ(simplified(n_ * constant(Scalar(1.0))), "mul(n, 1)") << "float64";
  EXPECT_EQ(simplified(where(constant(Scalar(true)), x_, y_)), "where(true, x, y)") << "y may stretch or be refused";
  EXPECT_EQ(simplified(-(x_ - y_)), "neg(sub(x, y))") << "0 for equals has another sign";
  EXPECT_EQ(simplified((x_ * 3.0) * 7.0), "mul(mul(x, 3), 7)") << "two roundings";
  EXPECT_EQ(simplified((x_ * 0.5) * 0.5), "mul(mul(x, 0.5), 0.5)") << "rounds twice below the least normal number";
  EXPECT_EQ(simplified(pow(x_, 0.5)), "pow(x, 0.5)") << "inf for -inf";
}

TEST_F(Simplify, DropsInnerCastsThatLoseNothing) {
  EXPECT_EQ(simplified(cast(cast(x_, float64), float32)), "x");
  EXPECT_EQ(simplified(cast(cast(n_, int64), float32)), "cast[float32](n)");
  EXPECT_EQ(simplified(cast(cast(n_, float64), int32)), "n");
  EXPECT_EQ(simplified(cast(cast(n_, float32), float64)), "cast[float64](cast[float32](n))") << "24 bits do not hold 31";
  EXPECT_EQ(simplified(cast(cast(n_, float64), int8)), "cast[int8](cast[float64](n))") << "saturates, where the direct one wraps";
  EXPECT_EQ(simplified(cast(cast(x_, int32), float32)), "cast[float32](cast[int32](x))");
}

TEST_F(Simplify, FoldsConstants) {
  EXPECT_EQ(simplified(x_ * (constant(Scalar(2.0f)) * 3.0 + 0.5)), "mul(x, 6.5)");
  EXPECT_EQ(simplified(n_ + (constant(Scalar(std::int32_t{2147483647})) + constant(Scalar(std::int32_t{1})))), "add(n, -2147483648)");
  EXPECT_EQ(simplified(x_ + sqrt(constant(Scalar(2.0f)))), "add(x, 1.4142135)");
  EXPECT_EQ(simplified(x_ + exp(constant(Scalar(1.0f)))), "add(x, exp(1))") << "the last bit is the device's";
  const float values[] = {1, 2, 3, 4, 5, 6};
  ConstantData data{{float32, {2, 3}}, std::vector<std::byte>(24)};
  std::memcpy(data.bytes.data(), values, 24);
  EXPECT_EQ(simplified(y_ + transpose(constant(data)) * 2.0), "add(y, float32 (3, 2): 2 8 4 10 6 12)");
  ConstantData large{{float32, {64, 64}}, std::vector<std::byte>(4 * 64 * 64)};
  EXPECT_EQ(simplified(y_ + constant(large, "c") * 2.0), "add(y, mul(float32 (64, 64), 2))") << "too large to be kept";
}

TEST_F(Simplify, CollectsNumbersAndSigns) {
  EXPECT_EQ(simplified((n_ * 3) * 7), "mul(n, 21)");
  EXPECT_EQ(simplified((n_ + 3) + 7), "add(n, 10)");
  EXPECT_EQ(simplified((x_ * 2.0) * 4.0), "mul(x, 8)");
  EXPECT_EQ(simplified((x_ * 3.0) * 7.0, true), "mul(x, 21)");
  EXPECT_EQ(simplified((x_ + 3.0) + 7.0, true), "add(x, 10)");
  EXPECT_EQ(simplified(x_ + -y_), "sub(x, y)");
  EXPECT_EQ(simplified(-x_ + y_), "sub(y, x)");
  EXPECT_EQ(simplified(x_ - -y_), "add(x, y)");
  EXPECT_EQ(simplified(-x_ * -y_), "mul(x, y)");
  EXPECT_EQ(simplified(-x_ * 3.0), "mul(x, -3)");
  EXPECT_EQ(simplified(x_ * -1.0), "neg(x)");
  EXPECT_EQ(simplified(-x_ / 3.0), "true_div(x, -3)");
}

TEST_F(Simplify, SpecialisesPowers) {
  EXPECT_EQ(simplified(pow(x_, 2.0)), "sqr(x)");
  EXPECT_EQ(simplified(pow(n_, 2)), "sqr(n)");
  EXPECT_EQ(simplified(pow(x_, 3.0)), "mul(sqr(x), x)");
  EXPECT_EQ(simplified(pow(x_, 4.0)), "sqr(sqr(x))");
  EXPECT_EQ(simplified(pow(h_, 3.0)), "pow(h, 3)") << "16 bits round between";
  EXPECT_EQ(simplified(pow(x_, 0.0)), "second(x, 1)");
  EXPECT_EQ(simplified(pow(x_, -1.0)), "reciprocal(x)");
  EXPECT_EQ(simplified(pow(exp(x_), 0.5)), "sqrt(exp(x))");
  EXPECT_EQ(simplified(pow(sqr(x_), -0.5)), "rsqrt(sqr(x))");
  EXPECT_EQ(simplified(x_ * x_), "sqr(x)");
}

TEST_F(Simplify, KeepsWhatOverflowsAndCancelsExact) {
  EXPECT_EQ(simplified(log(1.0 + x_)), "log1p(x)");
  EXPECT_EQ(simplified(log(1.0 - x_)), "log1p(neg(x))");
  EXPECT_EQ(simplified(exp(x_) - 1.0), "expm1(x)");
  EXPECT_EQ(simplified(1.0 - exp(x_)), "sub(0, expm1(x))") << "the negative would be -0 at 0";
  EXPECT_EQ(simplified(log(1.0 + exp(x_))), "softplus(x)");
  EXPECT_EQ(simplified(log(1.0 - exp(x_))), "log1mexp(x)");
  EXPECT_EQ(simplified(log(exp(x_))), "x");
  EXPECT_EQ(simplified(1.0 - erf(x_)), "erfc(x)");
  EXPECT_EQ(simplified(log(1 + n_)), "log(add(1, n))") << "integers wrap";
}

TEST_F(Simplify, TakesTheGreaterExponentOutOfASum) {
  EXPECT_EQ(simplified(log(exp(x_) + exp(y_))), "add(maximum(x, y), softplus(where(eq(x, y), 0, neg(abs(sub(x, y))))))");
  EXPECT_EQ(simplified((y_ / (exp(y_) + exp(x_))) * exp(x_)), "mul(y, sigmoid(sub(x, y)))");
  EXPECT_EQ(simplified(log(exp(x_) + y_)), "log(add(exp(x), y))");
}

TEST_F(Simplify, KnowsSigmoids) {
  EXPECT_EQ(simplified(1.0 / (1.0 + exp(-x_))), "sigmoid(x)");
  EXPECT_EQ(simplified(reciprocal(exp(-x_) + 1.0)), "sigmoid(x)");
  EXPECT_EQ(simplified(exp(x_) / (1.0 + exp(x_))), "sigmoid(x)");
  EXPECT_EQ(simplified(log(sigmoid(x_))), "neg(softplus(neg(x)))");
  EXPECT_EQ(simplified(1.0 - sigmoid(x_)), "sigmoid(neg(x))");
  EXPECT_EQ(simplified(log(1.0 - sigmoid(x_))), "neg(softplus(x))");
  const Variable s = sigmoid(x_);
  EXPECT_EQ(simplified(s * (1.0 - s)), "mul(sigmoid(x), sub(1, sigmoid(x)))") << "one sigmoid is less work than two";
  EXPECT_EQ(simplified(s - s * s), "mul(sigmoid(x), sub(1, sigmoid(x)))");
  EXPECT_EQ(simplified(y_ * s - s * (y_ * s)), "mul(mul(y, sigmoid(x)), sub(1, sigmoid(x)))");
  EXPECT_EQ(simplified(y_ - y_ * x_), "sub(y, mul(y, x))");
  EXPECT_EQ(simplified((y_ / s) * (s * x_)), "mul(second(sigmoid(x), y), x)");
  EXPECT_EQ(simplified(s + log(1.0 - s)), "sub(sigmoid(x), softplus(x))");
  EXPECT_EQ(simplified((y_ / (1.0 + exp(x_))) * exp(x_)), "mul(y, sigmoid(x))");
  EXPECT_EQ(simplified(-(y_ / (1.0 + exp(x_))) * exp(x_)), "neg(mul(y, sigmoid(x)))");
  EXPECT_EQ(simplified(y_ * exp(x_) / (1.0 + exp(x_))), "mul(y, sigmoid(x))");
  EXPECT_EQ(simplified(exp(x_) * sigmoid(-x_)), "sigmoid(x)");
  EXPECT_EQ(simplified((y_ / (1.0 + exp(x_)) - y_ * s / (1.0 + exp(x_))) * exp(x_)), "mul(y, mul(sigmoid(x), sigmoid(neg(x))))") << "1 less 1, times infinity";
  EXPECT_EQ(simplified((y_ / (1.0 + exp(y_))) * exp(x_)), "mul(true_div(y, add(1, exp(y))), exp(x))") << "of another value";
  EXPECT_EQ(simplified((y_ / s) * s), "second(sigmoid(x), y)") << "y in the common shape";
  EXPECT_EQ(simplified((-y_ / (1.0 - s)) * s * (1.0 - s)), "mul(second(sub(1, sigmoid(x)), neg(y)), sigmoid(x))");
  EXPECT_EQ(simplified((y_ / s - x_) * s), "sub(second(sigmoid(x), y), mul(x, sigmoid(x)))");
  EXPECT_EQ(simplified((y_ / sigmoid(y_)) * s), "mul(true_div(y, sigmoid(y)), sigmoid(x))") << "of another value";
}

TEST_F(Simplify, KnowsSoftmaxAndItsLogarithm) {
  const std::string stable = "true_div(exp(sub(x, max(x))), sum(exp(sub(x, max(x)))))";
  EXPECT_EQ(simplified(softmax(x_)), stable);
  EXPECT_EQ(simplified(exp(x_) / sum(exp(x_), 1, true)), stable);
  EXPECT_EQ(simplified(reciprocal(sum(exp(x_), 1, true)) * exp(x_)), stable);
  const std::string log_stable = "sub(sub(x, max(x)), log(sum(exp(sub(x, max(x))))))";
  EXPECT_EQ(simplified(log_softmax(x_)), log_stable);
  EXPECT_EQ(simplified(log(softmax(x_))), log_stable);
  EXPECT_EQ(simplified(log(exp(x_) / sum(exp(x_), 1, true))), log_stable);
  EXPECT_EQ(simplified(log(sum(exp(x_), 1, true))), "add(log(sum(exp(sub(x, where(isinf(max(x)), 0, max(x)))))), where(isinf(max(x)), 0, max(x)))");
  EXPECT_EQ(simplified(logsumexp(x_, 1, true)), simplified(log(sum(exp(x_), 1, true))));
  EXPECT_EQ(simplified(log(softmax(h_))).substr(0, 30), "cast[float16](sub(sub(cast[flo") << "in float32 to the end";
}

TEST_F(Simplify, DividesOnceInGradientsOfSoftmax) {
  const std::string p = "true_div(exp(sub(x, max(x))), sum(exp(sub(x, max(x)))))", gradient = "mul(sub(y, sum(mul(y, " + p + "))), " + p + ")";
  const Variable e = exp(x_ - max(x_, 1, true)), s = sum(e, 1, true);
  EXPECT_EQ(simplified((y_ / s + second(e, sum(-(y_ * (e / s) / s), 1, true))) * e), gradient) << "as gradients have it";
  EXPECT_THAT(simplified(grad(sum(e / s * y_), x_)), ::testing::Not(::testing::HasSubstr("eq(x, max(x))"))) << "nothing comes back by the greatest element";
  const Variable by_exponents = (y_ / s + sum(-(y_ * (e / s) / s), 1, true)) * e, greatest = cast(eq(x_, max(x_, 1, true)), float32);
  EXPECT_EQ(simplified(by_exponents), gradient);
  EXPECT_EQ(simplified(by_exponents + sum(-by_exponents, 1, true) / sum(greatest, 1, true) * greatest), gradient);
  EXPECT_THAT(simplified((y_ / s + sum(-(x_ * (e / s) / s), 1, true)) * e), ::testing::HasSubstr("true_div(y, ")) << "of unlike factors";
  EXPECT_THAT(simplified(by_exponents + sum(by_exponents, 1, true) / sum(greatest, 1, true) * greatest), ::testing::HasSubstr("eq(x, max(x))")) << "of the other sign";
  EXPECT_THAT(simplified(by_exponents + sum(-by_exponents, 1, true) / sum(greatest, 1, true) * cast(eq(y_, max(x_, 1, true)), float32)), ::testing::HasSubstr("eq(y, max(x))"));
}

TEST_F(Simplify, MergesViews) {
  EXPECT_EQ(simplified(transpose(transpose(x_))), "x");
  EXPECT_EQ(simplified(transpose(expand_dims(x_, 0))), "dimshuffle[1, 0, -1](x)");
  EXPECT_EQ(simplified(reshape(reshape(x_, {-1}), {3, -1})), "reshape[3, -1](contiguous(x))");
  EXPECT_EQ(simplified(reshape(k_, {2, 3})), "k");
  EXPECT_EQ(simplified(contiguous(contiguous(x_))), "contiguous(x)");
  EXPECT_EQ(simplified(subtensor(x_, {{}, {}})), "x");
}

TEST_F(Simplify, LiftsViewsThatPartKernels) {
  EXPECT_EQ(simplified(transpose(exp(tanh(x_))) + y_), "add(exp(tanh(dimshuffle[1, 0](x))), y)");
  EXPECT_EQ(simplified(transpose(x_ * v_) + y_), "add(mul(dimshuffle[1, 0](x), dimshuffle[0, -1](v)), y)");
  EXPECT_EQ(simplified(subtensor(exp(x_), {{0, 5}}) + y_), "add(exp(subtensor[0:5](x)), y)");
  EXPECT_EQ(simplified(reshape(exp(k_) * 2.0, {3, 2}) + y_), "add(mul(exp(reshape[3, 2](contiguous(k))), 2), y)");
  EXPECT_EQ(simplified(contiguous(transpose(exp(x_)))), "contiguous(exp(dimshuffle[1, 0](x)))") << "the row writes in C order what would be copied";
  EXPECT_EQ(simplified(contiguous(reshape(exp(x_), {-1}))), "contiguous(reshape[-1](contiguous(exp(x))))") << "which is in C order";
  EXPECT_EQ(simplified(transpose(exp(x_))), "dimshuffle[1, 0](exp(x))") << "a result: nothing waits behind the view";
  EXPECT_EQ(simplified(transpose(exp(sum(x_, 0, true))) + y_), "add(dimshuffle[1, 0](exp(sum(x))), y)") << "the reduction has the kernel already";
  const Variable logs = log1p(k_), wide = erfinv(erfinv(k_));
  EXPECT_EQ(simplified(subtensor(logs, {{}, {1, 3}}) - subtensor(logs, {{}, {0, 2}})), "sub(log1p(subtensor[:, 1:3](k)), log1p(subtensor[:, 0:2](k)))") << "cheap, for two neighbours";
  EXPECT_EQ(simplified(subtensor(wide, {{}, {1, 3}}) - subtensor(wide, {{}, {0, 2}})), "sub(subtensor[:, 1:3](erfinv(erfinv(k))), subtensor[:, 0:2](erfinv(erfinv(k))))") << "dear";
  EXPECT_EQ(simplified(subtensor(x_ + y_, {{0, 5}}) * 2.0), "mul(subtensor[0:5](add(x, y)), 2)") << "the parts may agree where the wholes do not";
}

TEST_F(Simplify, KeepsWorkOnRowsValuesWithTheRows) {
  EXPECT_EQ(simplified(sum(x_, 1) * 2.0 - max(x_, 1)), "dimshuffle[0](sub(mul(sum(x), 2), max(x)))");
  EXPECT_EQ(simplified(sum(x_, 1) / v_), "dimshuffle[0](true_div(sum(x), dimshuffle[0, -1](v)))") << "of an input a view";
  EXPECT_EQ(simplified(exp(sum(x_, 1)) + tanh(v_)), "dimshuffle[0](add(exp(sum(x)), tanh(dimshuffle[0, -1](v))))");
  EXPECT_EQ(simplified(sum(x_, 1) + sum(x_, 0)), "dimshuffle[0](add(sum(x), dimshuffle[1, -1](sum(x))))") << "of unlike axes it stays with the first";
  EXPECT_EQ(simplified(sum(x_, Axes()) * 2.0), "mul(dimshuffle(sum(x)), 2)") << "of no rows";
}

TEST_F(Simplify, KeepsFillsNumbers) {
  EXPECT_EQ(simplified(second(x_, 2.0) * 3.0 + 1.0), "second(x, 7)");
  EXPECT_EQ(simplified(second(second(x_, 2.0), 3.0)), "second(x, 3)");
  EXPECT_EQ(simplified(transpose(second(transpose(x_), 2.0))), "second(x, 2)");
}

TEST_F(Simplify, PutsPartsThatWereSetIntoZerosSideBySide) {
  const Variable zeros = second(k_, 0.0), first = exp(subtensor(k_, {{}, {0, 1}})), rest = tanh(subtensor(k_, {{}, {1, 3}}));
  const auto at = [&](const Variable& base, std::int64_t start, std::int64_t stop, const Variable& part) { return set_subtensor(base, {{}, {start, stop}}, part); };
  const std::string parts = "(exp(subtensor[:, 0:1](k)), tanh(subtensor[:, 1:3](k)))";
  EXPECT_EQ(simplified(at(zeros, 1, 3, rest) + at(zeros, 0, 1, first)), "concatenate[1]" + parts);
  EXPECT_EQ(simplified(set_subtensor(zeros, {{}, {1, {}}}, rest) + set_subtensor(zeros, {{}, {{}, -2}}, first)), "concatenate[1]" + parts) << "slices to the ends";
  const Variable column = exp(subtensor(k_, {{}, 0}));
  EXPECT_THAT(simplified(at(zeros, 1, 3, rest) + set_subtensor(zeros, {{}, -3}, column)), ::testing::StartsWith("concatenate[1](")) << "a position";
  EXPECT_THAT(simplified(at(zeros, 1, 3, rest) + set_subtensor(zeros, {{}, 1}, column)), ::testing::Not(::testing::HasSubstr("concatenate"))) << "a position within another part";
  for (const Variable& other : {at(zeros, 0, 2, rest) + at(zeros, 0, 1, first), at(second(k_, 1.0), 1, 3, rest) + at(zeros, 0, 1, first), at(zeros, 1, 3, first) + at(zeros, 0, 1, first)}) {
    EXPECT_THAT(simplified(other), ::testing::Not(::testing::HasSubstr("concatenate"))) << "parts overlap, do not lie in zeros, or stretch";
  }
}

TEST_F(Simplify, TakesSumsThatWaitForOthersApart) {
  const Variable centred = x_ - mean(x_, 1, keepdims), r = rsqrt(mean(sqr(centred), 1, keepdims)), c = sum(y_ * centred, 1, keepdims), of_y = sum(y_, 1, keepdims);
  const auto of_any = [](const Variable& scale, const Variable& elements) { return where(eq(count_of(elements, 0b10, {}), 0.0), 0.0, scale); };  // of no elements, too
  EXPECT_EQ(simplified(sum(-(y_ * r), 1, keepdims)), simplified(of_any(neg(r), y_) * of_y));
  EXPECT_EQ(simplified(sum(y_ * (x_ * c), 1, keepdims)), simplified(of_any(c, y_ * x_) * sum(y_ * x_, 1, keepdims))) << "a factor of a factor";
  const Variable both = y_ * r + centred * c, difference = y_ * r - x_ * c;
  EXPECT_EQ(simplified(both * sum(both, 1, keepdims)), simplified(both * (of_any(r, y_) * of_y))) << "the sum of x - mean(x) is 0";
  EXPECT_EQ(simplified(difference * sum(-difference, 1, keepdims)), simplified(difference * (of_any(neg(r), y_) * of_y + of_any(c, x_) * sum(x_, 1, keepdims))));
  const Variable spread = rsqrt(mean(sqr(k_), 1, keepdims)), elements = exp(k_);
  EXPECT_EQ(simplified(sum(elements * spread, 1, keepdims)), simplified(spread * sum(elements, 1, keepdims))) << "of which there are three";
}

TEST_F(Simplify, MultipliesInPlaceOfSumsOfOneElement) {
  const Variable column = exp(sum(k_, 1, keepdims)), half = cast(column, float16);
  EXPECT_EQ(simplified(sum(second(k_, column), 1, keepdims)), "mul(exp(sum(k)), 3)");
  EXPECT_EQ(simplified(sum(second(cast(k_, float16), half), 1, keepdims)), "cast[float16](mul(cast[float32](cast[float16](exp(sum(k)))), 3))") << "3 times the element need not be in float16";
  EXPECT_EQ(simplified(sum(-cast(second(cast(k_, float16), half), float32), 1, keepdims)), "mul(cast[float32](cast[float16](exp(sum(k)))), -3)");
  EXPECT_THAT(simplified(sum(second(k_, column), 0, keepdims)), ::testing::StartsWith("sum(second(")) << "other axes are stretched";
  EXPECT_THAT(simplified(sum(second(x_, sum(x_, 1, keepdims)), 1, keepdims)), ::testing::StartsWith("sum(second(")) << "how many is not known";
  EXPECT_THAT(simplified(sum(second(subtensor(k_, {{}, {0, 0}}), column), 1, keepdims)), ::testing::StartsWith("sum(second(")) << "of nothing, where the element may be infinite";
}

TEST_F(Simplify, LeavesSumsThatAloneFindUnlikeExtents) {
  const Variable r = sum(x_, 1, keepdims), c = sum(y_, 1, keepdims), both = x_ * r + y_ * c, of_both = sum(both, 1, keepdims);
  EXPECT_THAT(simplified(of_both), ::testing::StartsWith("sum(add(")) << "nothing else adds x to y";
  EXPECT_THAT(simplified(sum(-both, 1, keepdims) / of_both), ::testing::StartsWith("true_div(sum(neg(add(")) << "each of two sums could be taken apart, and nobody would add";
}

TEST_F(Simplify, LeavesSumsThatWaitForNoMoreThanTheirTerms) {
  const Variable c = sum(y_ * x_, 1, keepdims);
  const auto stays = [&](const Variable& sums) {
    const Variable inputs[] = {x_, y_, v_, n_, b_, k_, h_}, outputs[] = {sums};
    EXPECT_EQ(simplified(sums), formula(merge_duplicates(FunctionGraph(inputs, outputs, true))));
  };
  stays(sum(x_ * v_ + y_, 1, keepdims));
  stays(sum(exp(x_ * c), 1, keepdims));
  stays(sum(x_ * exp(y_ * c), 1, keepdims));
  stays(sum(x_ / c, 1, keepdims));
  stays(sum(x_ * sum(y_ * x_, 0, keepdims), 1, keepdims));  // which is no row's
  stays(sum(h_ * sum(h_, 1, keepdims), 1, keepdims));       // float16
  stays(sum(c * sum(x_, 1, keepdims), 1, keepdims));        // one element a row
}

TEST_F(Simplify, HasItsRulesInTheManual) {
  std::ifstream file(DAMO_SOURCE_DIR "/docs/rewrites.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const Rule& rule : simplification_rules(true)) EXPECT_THAT(page, ::testing::ContainsRegex("[|,] " + rule.name + "[, ]"));
}

}  // namespace
}  // namespace damo
