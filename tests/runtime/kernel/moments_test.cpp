// Means and variances that one pass joins: which specs have the form, and what it computes, held against double precision and against the spec without it.
#include "runtime/kernel/moments.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/joined_rows.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/step_forms.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

Step mean_of(int input) { return join("0", "a + b", input, "a / T(n)"); }
Step square_of(int input) { return map("x0 * x0", {input}); }

/// The mean of a row, its variance, and its elements less the one by the root of the other: 1 the mean, 2 the difference, 3 its square, 4 the variance.
KernelSpec norm() { return spec_of("norm", {mean_of(0), less(0, 1), square_of(2), mean_of(3), map("x0 * rsqrt(x1 + T(0.00001))", {2, 4})}, {1, 4, 5}); }
/// Without the elements.
KernelSpec variance() {
  KernelSpec spec = norm();
  spec.name = "variance";
  spec.steps.pop_back();
  spec.stores.pop_back();
  spec.outputs.pop_back();
  return spec;
}
/// norm() with one step otherwise.
KernelSpec norm_with(int value, const Step& step) {
  KernelSpec spec = norm();
  spec.steps[static_cast<std::size_t>(value - spec.first_step())] = step;
  return spec;
}

TEST(JoinedMoments, TakeOnePassOfTwo) {
  const std::optional<KernelSpec> form = with_joined_moments(variance());
  ASSERT_TRUE(form);
  EXPECT_EQ(count_passes(variance()), 2u);
  EXPECT_EQ(count_passes(*form), 1u);
  EXPECT_EQ(form->steps.size(), 2u) << "nothing reads the differences and their squares";
  EXPECT_TRUE(accumulate_alike(form->steps[0], form->steps[1]));
  const std::optional<KernelSpec> elements = with_joined_moments(norm());
  ASSERT_TRUE(elements);
  EXPECT_EQ(count_passes(*elements), 2u) << "of three";
  EXPECT_EQ(elements->steps.size(), 4u) << "the last pass wants the difference";
}

TEST(JoinedMoments, ServeEachWayToWriteThem) {
  EXPECT_TRUE(with_joined_moments(norm_with(2, map("x0 - x1", {1, 0})))) << "the mean less the element";
  EXPECT_TRUE(with_joined_moments(norm_with(3, map("x0 * x1", {2, 2}))));
  EXPECT_TRUE(with_joined_moments(norm_with(4, sum_of(3)))) << "a sum of squares";
  KernelSpec both = norm();  // a sum of the same elements beside the mean
  both.steps.push_back(sum_of(0));
  both.stores.push_back(6);
  both.outputs.push_back(float32);
  const std::optional<KernelSpec> form = with_joined_moments(both);
  ASSERT_TRUE(form);
  int accumulators = 0;
  each_accumulator(*form, [&](const Join&) { ++accumulators; });
  EXPECT_EQ(accumulators, 1);
}

TEST(JoinedMoments, TakeAConversionThatRoundsNothingForWhatItConverts) {
  KernelSpec spec = spec_of("converted", {mean_of(0), map("x0", {0}), mean_of(2), less(2, 3), square_of(4), mean_of(5)}, {1, 6});
  spec.inputs = {bfloat16};
  spec.steps[0].compute = spec.steps[0].result = bfloat16;
  spec.steps[1].rounds = true;
  const std::optional<KernelSpec> form = with_joined_moments(spec);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->steps.size(), 2u) << "the mean of bfloat16 elements and that of float32 ones are one";
  EXPECT_TRUE(accumulate_alike(form->steps[0], form->steps[1]));
}

TEST(JoinedMoments, ServeNothingElse) {
  EXPECT_FALSE(with_joined_moments(softmax()));
  EXPECT_FALSE(with_joined_moments(moments()));
  EXPECT_FALSE(with_joined_moments(spread())) << "it is one pass";
  EXPECT_FALSE(with_joined_moments(norm_with(1, max_of(0))));
  EXPECT_FALSE(with_joined_moments(norm_with(1, sum_of(0)))) << "a sum is no mean";
  EXPECT_FALSE(with_joined_moments(norm_with(2, map("x0 + x1", {0, 1}))));
  EXPECT_FALSE(with_joined_moments(norm_with(3, map("fabs(x0)", {2}))));
  EXPECT_FALSE(with_joined_moments(norm_with(4, max_of(3))));
  EXPECT_FALSE(with_joined_moments(norm_with(4, across(mean_of(3))))) << "squares joined across rows";
  Step rounded = square_of(2);
  rounded.result = float16;
  rounded.rounds = true;
  EXPECT_FALSE(with_joined_moments(norm_with(3, rounded)));
  Step wide = mean_of(3);
  wide.compute = wide.result = float64;
  EXPECT_FALSE(with_joined_moments(norm_with(4, wide))) << "squares of float32 summed in float64";
  KernelSpec other = norm();  // the mean of another array
  other.inputs.push_back(float32);
  other.steps = {mean_of(1), less(0, 2), square_of(3), mean_of(4)};
  other.stores = {5};
  other.outputs = {float32};
  EXPECT_FALSE(with_joined_moments(other));
}

TEST(JoinedMoments, ServeNoSpecThatGoesThroughRowsAsOften) {
  KernelSpec spec = norm();  // a sum of what follows from the mean in another way: the second pass stays
  spec.steps.push_back(map("fabs(x0)", {2}));
  spec.steps.push_back(sum_of(6));
  spec.stores = {1, 4, 7};
  EXPECT_FALSE(with_joined_moments(spec));
}

TEST(JoinedMoments, ServeFloatsOfEachWidth) {
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    const std::optional<KernelSpec> form = with_joined_moments(of_dtype(dtype, norm()));
    ASSERT_TRUE(form) << name(dtype);
    const Join& join = *form->steps[0].join;
    EXPECT_EQ(join.members[1].first, dtype == float64 ? "double" : "float");
    EXPECT_EQ(join.bytes, dtype == float64 ? 40 : 20);
    EXPECT_EQ(form->steps[0].result, dtype);
  }
}

class JoinedMomentsOfRows : public JoinedRows {
 protected:
  struct Moments {
    Values means, variances;
  };
  /// Of the form.
  Moments found(const Array& x, bool columns) const { return found(*with_joined_moments(x.dtype() == float64 ? of_dtype(float64, variance()) : variance()), x, columns); }
  Moments found(const KernelSpec& form, const Array& x, bool columns) const {
    const DType dtype = x.dtype();
    Shape kept = x.shape();
    kept[columns ? 0 : 1] = 1;
    const Array mean = Array::empty(kept, dtype, device()), variance_of = Array::empty(kept, dtype, device());
    run(form, x.shape(), columns ? 1u : 2u, {x, mean, variance_of});
    return {mean.to_doubles(), variance_of.to_doubles()};
  }
  /// In float64, or beyond it.
  static Moments expected(const Array& x, bool columns) {
    const Values values = x.to_doubles();
    const std::int64_t count = x.shape()[columns ? 1 : 0], length = x.shape()[columns ? 0 : 1];
    Moments all;
    for (std::int64_t row = 0; row < count; ++row) {
      const auto at = [&](std::int64_t k) { return values[static_cast<std::size_t>(columns ? k * count + row : row * length + k)]; };
      long double sum = 0, squares = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += at(k);
      const long double mean = sum / static_cast<long double>(length);
      for (std::int64_t k = 0; k < length; ++k) squares += (at(k) - mean) * (at(k) - mean);
      all.means.push_back(static_cast<double>(mean));
      all.variances.push_back(static_cast<double>(squares / static_cast<long double>(length)));
    }
    return all;
  }
};

TEST_P(JoinedMomentsOfRows, AreThoseOfFloat64) {
  const std::vector<std::pair<const char*, Fill>> fills = {
      {"about 0", [](std::int64_t row, std::int64_t at, std::int64_t) { return normal(row, at); }},
      {"about 10,000", [](std::int64_t row, std::int64_t at, std::int64_t) { return 1e4 + normal(row, at); }},
      {"an outlier first", [](std::int64_t row, std::int64_t at, std::int64_t) { return at == 0 ? 1e6 : normal(row, at); }},
      {"outliers of each size", [](std::int64_t row, std::int64_t at, std::int64_t) { return at % 128 == 0 ? 100.0 * static_cast<double>(row + at % 7) : normal(row, at); }},
      {"rising", [](std::int64_t row, std::int64_t at, std::int64_t length) { return 1e3 * static_cast<double>(at) / static_cast<double>(length) + normal(row, at); }},
      {"all equal", [](std::int64_t row, std::int64_t, std::int64_t) { return 1e4 / static_cast<double>(row + 3); }}};
  for (std::size_t kind = 0; kind < fills.size(); ++kind) {
    const auto& [what, fill] = fills[kind];
    const std::vector<Given> all = spaces();
    for (std::size_t space = 0; space < all.size(); ++space) {
      if (!testing::takes_pair(kind, space)) continue;
      const auto& [count, length, columns] = all[space];
      const Array x = rows(fill, count, length, columns);
      const Moments moments = found(x, columns), exact = expected(x, columns);
      for (std::size_t row = 0; row < moments.means.size(); ++row) {
        const double size = std::abs(exact.means[row]) + std::sqrt(exact.variances[row]);
        ASSERT_NEAR(moments.means[row], exact.means[row], 3e-6 * size) << what << ", " << count << " of " << length << (columns ? " columns" : " rows");
        ASSERT_NEAR(moments.variances[row], exact.variances[row], 5e-6 * exact.variances[row]) << what << ", " << count << " of " << length << (columns ? " columns" : " rows");
      }
    }
  }
}

/// The form without Join::append_group.
KernelSpec one_by_one(KernelSpec form) {
  for (Step& step : form.steps) {
    if (step.join) step.join->append_group.clear();
  }
  return form;
}

TEST_P(JoinedMomentsOfRows, OfGroupsAreAsGoodAsOfElementsOneByOne) {
  const std::vector<std::pair<const char*, Fill>> fills = {
      {"10,000 and 1e-3 beside it", [](std::int64_t row, std::int64_t at, std::int64_t) { return 1e4 + 1e-3 * normal(row, at); }},
      {"an outlier first", [](std::int64_t row, std::int64_t at, std::int64_t) { return at == 0 ? 1e6 : normal(row, at); }},
      {"an outlier first in each group", [](std::int64_t row, std::int64_t at, std::int64_t) { return (at / 8) % 8 == 0 ? 1e4 + normal(row, at) : normal(row, at); }},
      {"sorted", [](std::int64_t row, std::int64_t at, std::int64_t length) { return 1e3 + static_cast<double>(at) / static_cast<double>(length) + 1e-3 * normal(row, at); }},
      {"falling by powers", [](std::int64_t row, std::int64_t at, std::int64_t) { return std::exp2(20 - static_cast<double>(at % 40)) * (1 + 0.1 * normal(row, at)); }},
      {"alternating", [](std::int64_t row, std::int64_t at, std::int64_t) { return (at % 2 == 0 ? 1e3 : -1e3) + normal(row, at); }},
      {"alternating by tiles", [](std::int64_t row, std::int64_t at, std::int64_t) { return (at / 64 % 2 == 0 ? 1e3 : -1e3) + normal(row, at); }},
      {"a long stretch of equal ones", [](std::int64_t row, std::int64_t at, std::int64_t length) { return 1234.567 + (at > length / 2 ? 1e-2 * normal(row, at) : 0); }}};
  const KernelSpec form = *with_joined_moments(variance()), plain = one_by_one(form);
  for (const auto& [what, fill] : fills) {
    for (const auto& [count, length, columns] : {Given{3, 20000, false}, Given{2, 70001, false}, Given{8, 5003, true}, Given{64, 4096, true}}) {
      const Array x = rows(fill, count, length, columns);
      const Moments exact = expected(x, columns), moments = found(form, x, columns), others = found(plain, x, columns);
      double error = 0, other = 0;
      for (std::size_t row = 0; row < exact.variances.size(); ++row) {
        error = std::max(error, std::abs(moments.variances[row] / exact.variances[row] - 1));
        other = std::max(other, std::abs(others.variances[row] / exact.variances[row] - 1));
      }
      EXPECT_LE(error, std::max(other, 5e-7)) << what << ", " << count << " of " << length << (columns ? " columns" : " rows");
    }
  }
}

TEST_P(JoinedMomentsOfRows, AreThoseOfFloat64InFloat64) {
  const Fill fill = [](std::int64_t row, std::int64_t at, std::int64_t) { return 1e7 + normal(row, at); };
  for (const auto& [count, length, columns] : {Given{3, 20011, false}, Given{5, 3001, true}}) {
    const Array x = rows(fill, count, length, columns, float64);
    const Moments moments = found(x, columns), exact = expected(x, columns);
    for (std::size_t row = 0; row < moments.means.size(); ++row) {
      EXPECT_NEAR(moments.means[row], exact.means[row], 1e-8);
      EXPECT_NEAR(moments.variances[row], exact.variances[row], 1e-13 * exact.variances[row]) << "two float64 of 1e7 are less than 2e-9 apart, so the reference is no better";
    }
  }
}

TEST_P(JoinedMomentsOfRows, HaveTheInfinitiesOfASum) {
  const Fill fill = [](std::int64_t row, std::int64_t at, std::int64_t length) { return static_cast<double>(infinite_value(row, at, length, static_cast<float>(normal(row, at)))); };
  const Fill behind = [](std::int64_t row, std::int64_t at, std::int64_t length) { return at == length - 1 && row % 2 == 0 ? std::numeric_limits<double>::infinity() : normal(row, at); };
  for (const auto& [count, length, columns] : {Given{18, 40, false}, Given{9, 5003, false}, Given{9, 70001, false}, Given{9, 5003, true}, Given{18, 40, true}, Given{300, 12, true}, Given{300, 2, true}}) {
    for (const Fill& of : {fill, behind}) {
      const Array x = rows(of, count, length, columns);
      const Moments moments = found(x, columns), exact = expected(x, columns);
      for (std::size_t row = 0; row < moments.means.size(); ++row) {
        const std::string where = std::to_string(count) + " of " + std::to_string(length) + (columns ? " columns" : " rows") + ", row " + std::to_string(row);
        EXPECT_EQ(std::isnan(moments.means[row]), std::isnan(exact.means[row])) << where;
        if (std::isinf(exact.means[row])) EXPECT_EQ(moments.means[row], exact.means[row]) << where;
        EXPECT_EQ(std::isnan(moments.variances[row]), std::isnan(exact.variances[row])) << where;
      }
    }
  }
}

TEST_P(JoinedMomentsOfRows, OfNoneAreNaNAndOfOneHaveVarianceZero) {
  const Moments none = found(Array::empty({3, 0}, float32, device()), false);
  for (double value : none.means) EXPECT_TRUE(std::isnan(value));
  for (double value : none.variances) EXPECT_TRUE(std::isnan(value));
  const Moments one = found(Array::from(std::vector<float>{3e38f, -0.0f, 7}, {3, 1}, device()), false);
  EXPECT_EQ(one.variances, (Values{0, 0, 0}));
  EXPECT_EQ(one.means[2], 7);
}

TEST_P(JoinedMomentsOfRows, HaveTheSameBitsAtEachCall) {
  const Array x = rows([](std::int64_t row, std::int64_t at, std::int64_t) { return normal(row, at); }, 3, 70001, false);
  const Moments first = found(x, false);
  for (int i = 0; i < 5; ++i) {
    const Moments again = found(x, false);
    EXPECT_EQ(again.means, first.means);
    EXPECT_EQ(again.variances, first.variances);
  }
}

/// Pairs of a mean and the variance around it among other joins, which later elements follow from.
KernelSpec random_norms(std::mt19937& random) {
  RandomSteps steps(random);
  for (int pairs = 1 + steps.below(2); pairs > 0; --pairs) {
    steps.add_some();
    const int value = steps.any_element(), mean = steps.add(mean_of(value), false);
    if (steps.below(3) == 0) steps.add(sum_of(steps.below(2) == 0 ? value : steps.any_element()), false), steps.last().join->post = "a / T(n)";
    const int apart = steps.add(steps.below(2) == 0 ? less(value, mean) : less(mean, value), true);
    const int square = steps.add(steps.below(2) == 0 ? square_of(apart) : map("x0 * x1", {apart, apart}), true);
    const int spread = steps.add(mean_of(square), false);
    if (steps.below(4) != 0) steps.add(map("x0 * rsqrt(x1 + T(0.1))", {apart, spread}), true);
    if (steps.below(4) == 0) steps.add(mean_of(steps.any_element()), false);
  }
  return steps.spec("norms");
}

TEST_P(JoinedMomentsOfRows, AreInRandomSpecsWhatTwoPassesGive) {
  int served = 0;
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const KernelSpec spec = random_norms(random);
    const std::optional<KernelSpec> form = with_joined_moments(spec);
    if (!form) continue;
    ++served;
    expect_alike(spec, *form, seed, 1, 1);
  }
  EXPECT_GE(served, 12) << "the specs should give it something to do";
}

DAMO_ON_EACH_DEVICE(JoinedMomentsOfRows);

}  // namespace
}  // namespace damo
