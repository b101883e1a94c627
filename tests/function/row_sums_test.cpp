// Sums whose elements wait for other sums along the same rows (rule split_row_sum): rewritten, as they stand, and in float64.
#include <random>
#include <vector>

#include <gmock/gmock.h>

#include <damo/damo.hpp>

#include "support/devices.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

class RowSums : public testing::OnEachDevice {
 protected:
  Array noise(const Shape& shape, DType dtype, double shift = 0) {
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(shape[0] * shape[1]));
    for (double& value : values) value = shift + normal(random_);
    return astype(Array::from(values, shape, device()), dtype);
  }
  /// Random sums of up to three products, which are a result too, in which x, y, what is left of x's mean, and sums of these stand.
  std::vector<Variable> drawn(const Variable& x, const Variable& y, int axis) {
    const Variable centred = x - mean(x, axis, keepdims), spread = rsqrt(mean(sqr(centred), axis, keepdims) + 1e-3);
    const Variable elements[] = {x, y, centred, x * y, exp(0.1 * y)}, commons[] = {spread, mean(x * y, axis, keepdims), max(y, axis, keepdims) * spread, constant(Scalar(0.5f))};
    Variable sum_of;
    for (int terms = 1 + static_cast<int>(random_() % 3); terms > 0; --terms) {
      Variable term = elements[random_() % 5] * astype(commons[random_() % 4], x.dtype());
      if (random_() % 3 == 0) term = elements[random_() % 5] * term;
      if (random_() % 2 == 0) term = -term;
      sum_of = sum_of ? (random_() % 2 ? sum_of + term : sum_of - term) : term;
    }
    return {sum(sum_of, axis, keepdims) / 64.0, exp(0.01 * sum_of)};
  }
  std::mt19937 random_{7};
};

TEST_P(RowSums, AreThoseOfTheGraphAsItStands) {
  for (int round = 0; round < 12; ++round) {
    const DType dtype = round % 3 == 0 ? bfloat16 : round % 3 == 1 ? float32
                                                                   : float64;
    const int axis = round % 2;
    const std::mt19937 before = random_;
    const auto built = [&](DType of, bool rewrites) {
      random_ = before;
      const Variable x = input({of, {kUnknown, kUnknown}}, "x"), y = input({of, {kUnknown, kUnknown}}, "y");
      return function({x, y}, drawn(x, y, axis), {.rewrite = rewrites, .device = device(), .allow_unused_inputs = true});
    };
    const Function rewritten = built(dtype, true), standing = built(float64, false);
    const Shape shape{33, 64};
    const Array x = noise(shape, dtype, round % 4), y = noise(shape, dtype);
    const Results found = rewritten(x, y), right = standing(astype(x, float64), astype(y, float64));
    const double roundings = dtype == float64 ? 1e-12 : dtype == float32 ? 2e-5
                                                                         : 6e-2;
    for (int i = 0; i < 2; ++i) {
      const std::vector<double> a = found[static_cast<std::size_t>(i)].to_doubles(), b = right[static_cast<std::size_t>(i)].to_doubles();
      double greatest = 1;
      for (double value : b) greatest = std::max(greatest, std::abs(value));
      for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], roundings * greatest) << "round " << round << ", result " << i << ", element " << k;
    }
  }
}

TEST_P(RowSums, OfOneElementAreThoseOfTheGraphAsItStands) {
  for (DType dtype : {float16, bfloat16, float32, float64, int32}) {
    for (int axis = 0; axis < 2; ++axis) {
      const Shape shape{33, 45}, of_rows = axis == 0 ? Shape{1, 45} : Shape{33, 1};
      const auto built = [&](DType of, bool rewrites) {
        const Variable x = input({of, shape}, "x"), a = input({of, of_rows}, "a"), filled = second(x, a);
        const Variable sums[] = {sum(filled, axis), sum(-filled, axis, keepdims), sum(abs(-astype(filled, float64)), axis), mean(filled, axis)};
        return function({x, a}, std::vector<Variable>(std::begin(sums), std::end(sums)), {.rewrite = rewrites, .device = device()});
      };
      const Function rewritten = built(dtype, true), standing = built(dtype == int32 ? int32 : float64, false);
      const Array x = noise(shape, dtype), a = noise(of_rows, dtype, 3);
      const DType wide = dtype == int32 ? int32 : float64;
      const Results found = rewritten(x, a), right = standing(astype(x, wide), astype(a, wide));
      const double roundings = dtype == float64 || dtype == int32 ? 1e-14 : dtype == float32 ? 1e-6
                                                                        : dtype == float16   ? 1e-3
                                                                                             : 8e-3;
      for (std::size_t i = 0; i < 4; ++i) {
        const std::vector<double> is = found[i].to_doubles(), should = right[i].to_doubles();
        ASSERT_EQ(found[i].shape(), right[i].shape());
        for (std::size_t k = 0; k < is.size(); ++k) ASSERT_NEAR(is[k], should[k], roundings * std::max(1.0, std::abs(should[k]))) << name(dtype) << ", axis " << axis << ", result " << i << ", element " << k;
      }
    }
  }
}

TEST_P(RowSums, AreNoNumbersWhereElementsAreNone) {
  const Variable x = matrix("x"), y = matrix("y"), centred = x - mean(x, 1, keepdims), c = sum(y * centred, 1, keepdims);
  const Variable both = y * c + centred * c;
  const Function f = function({x, y}, {sum(both, 1, keepdims), both}, {.device = device()});
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const std::vector<double> found = f(astype(Array::from(std::vector<double>{1, inf, 2, nan, 5, 6}, {3, 2}, device()), float32), astype(Array::from(std::vector<double>{1, 2, 3, 4, nan, 1}, {3, 2}, device()), float32))[0].to_doubles();
  for (double value : found) EXPECT_TRUE(std::isnan(value)) << value;
}

/// Of no rows the mean is no number, nor is what it scales by: the sum is 0 all the same.
TEST_P(RowSums, OfNoElementsAre0WhateverTheirScale) {
  for (const DType dtype : {bfloat16, float32, float64}) {
    for (const int axis : {0, 1}) {
      const Shape none = axis == 0 ? Shape{0, 7} : Shape{7, 0}, some = axis == 0 ? Shape{5, 7} : Shape{7, 5};
      for (const bool is_known : {false, true}) {
        if (is_known && dtype != float32) continue;
        const TensorType type{dtype, is_known ? none : Shape{kUnknown, kUnknown}};
        const Variable x = input(type, "x"), y = input(type, "y"), centred = x - mean(x, axis, keepdims), spread = rsqrt(mean(sqr(centred), axis, keepdims));
        const Variable both = y * spread - centred * spread, scale = ones_like(x);
        const Variable sums[] = {sum(y * spread, axis), sum(-(spread * y), axis, keepdims), sum(both, axis), both, grad(sum(sqr(centred * spread * scale)), scale)};
        const Function f = function({x, y}, std::vector<Variable>(std::begin(sums), std::end(sums)), {.device = device()});
        const Results found = f(noise(none, dtype), noise(none, dtype));
        for (const int i : {0, 1, 2}) EXPECT_EQ(found[i].to_doubles(), std::vector<double>(7, 0.0)) << name(dtype) << ", axis " << axis << ", result " << i;
        if (is_known) continue;
        const Array a = noise(some, dtype), b = noise(some, dtype);
        const std::vector<double> sum_of_some = f(a, b)[0].to_doubles();
        for (const double value : sum_of_some) EXPECT_TRUE(std::isfinite(value) && value != 0);
      }
    }
  }
}

/// What tells whether there are elements is no kernel beside.
TEST_P(RowSums, OfRowsOfUnknownExtentsAreOneKernel) {
  for (const int axis : {0, 1}) {
    const Variable x = matrix("x"), y = matrix("y"), centred = x - mean(x, axis, keepdims);
    const Function f = function({x, y}, {lop(centred * rsqrt(mean(sqr(centred), axis, keepdims) + 1e-5), y, x)}, {.device = device()});
    EXPECT_EQ(f.graph().node_count(), 1) << f.explain();
  }
}

TEST_P(RowSums, RefuseTermsOfUnlikeExtents) {
  const Variable x = matrix("x"), y = matrix("y"), r = sum(x, 1, keepdims), c = sum(y, 1, keepdims);
  const Function f = function({x, y}, {sum(x * r + y * c, 1, keepdims)}, {.device = device()});
  EXPECT_THAT(testing::error_of<ShapeError>([&] { f(Array::ones({4, 3}, float32, device()), Array::ones({4, 5}, float32, device())); }), ::testing::HasSubstr("cannot broadcast (4, 3) with (4, 5)"));
}

DAMO_ON_EACH_DEVICE(RowSums);

}  // namespace
}  // namespace damo
