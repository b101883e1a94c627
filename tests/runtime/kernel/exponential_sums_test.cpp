// Maxima and sums of exponentials that one pass joins: which specs have the form, and what it computes, held against double precision and against the spec without it.
#include "runtime/kernel/exponential_sums.hpp"

#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/joined_rows.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/reducing_specs.hpp"
#include "runtime/kernel/step_forms.hpp"
#include "support/sampling.hpp"

namespace damo {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Step greatest_of(int input) { return join(literal(Scalar(-std::numeric_limits<float>::infinity())), "maximum(a, b)", input); }
Step exp_of(int input) { return map("exp(x0)", {input}, 15); }

/// The maximum of a row and the sum of exponentials against it: 1 the maximum, 4 the sum.
KernelSpec exponential_sum() { return spec_of("exponential_sum", {greatest_of(0), less(0, 1), exp_of(2), sum_of(3)}, {1, 4}); }
/// Against 0 where the maximum is infinite, as log-sum-exp has it: 1 is 0, 2 the maximum, 4 the center, 7 the sum.
KernelSpec guarded_sum(Scalar otherwise = Scalar(0.0f)) {
  KernelSpec spec;
  spec.name = "guarded_sum";
  spec.inputs = {float32};
  spec.constants = {otherwise};
  Step is_infinite = map("isinf(x0)", {2}), center = map("x0 ? x1 : x2", {3, 1, 2});
  is_infinite.result = bool_;
  center.condition_first = true;
  spec.steps = {greatest_of(0), is_infinite, center, less(0, 4), exp_of(5), sum_of(6)};
  spec.stores = {2, 7};
  spec.outputs = {float32, float32};
  return spec;
}
/// exponential_sum() with one step otherwise.
KernelSpec sum_with(int value, const Step& step) {
  KernelSpec spec = exponential_sum();
  spec.steps[static_cast<std::size_t>(value - spec.first_step())] = step;
  return spec;
}

TEST(JoinedExponentials, TakeOnePassOfTwo) {
  for (const KernelSpec& spec : {exponential_sum(), guarded_sum()}) {
    const std::optional<KernelSpec> form = with_joined_exponentials(spec);
    ASSERT_TRUE(form) << spec.name;
    EXPECT_EQ(count_passes(spec), 2u);
    EXPECT_EQ(count_passes(*form), 1u);
    int accumulators = 0;
    each_accumulator(*form, [&](const Join&) { ++accumulators; });
    EXPECT_EQ(accumulators, 2) << "the maximum, and the sum with its pivot";
    for (const Step& step : form->steps) EXPECT_NE(step.code, "exp(x0)") << "nothing reads the exponentials";
  }
  const std::optional<KernelSpec> elements = with_joined_exponentials(log_softmax());
  ASSERT_TRUE(elements);
  EXPECT_EQ(count_passes(log_softmax()), 3u);
  EXPECT_EQ(count_passes(*elements), 2u);
}

TEST(JoinedExponentials, ServeNothingElse) {
  EXPECT_FALSE(with_joined_exponentials(spread()));
  EXPECT_FALSE(with_joined_exponentials(sum_with(1, max_of(0)))) << "from another neutral value";
  EXPECT_FALSE(with_joined_exponentials(sum_with(1, sum_of(0))));
  EXPECT_FALSE(with_joined_exponentials(sum_with(2, less(1, 0))));
  EXPECT_FALSE(with_joined_exponentials(sum_with(2, map("x0 + x1", {0, 1}))));
  EXPECT_FALSE(with_joined_exponentials(sum_with(3, map("exp2(x0)", {2}))));
  EXPECT_FALSE(with_joined_exponentials(sum_with(4, max_of(3))));
  EXPECT_FALSE(with_joined_exponentials(sum_with(4, join("0", "a + b", 3, "a / T(n)")))) << "a mean";
  EXPECT_FALSE(with_joined_exponentials(sum_with(4, across(sum_of(3)))));
  Step rounded = exp_of(2);
  rounded.result = bfloat16;
  rounded.rounds = true;
  EXPECT_FALSE(with_joined_exponentials(sum_with(3, rounded)));
  Step wide = sum_of(3);
  wide.compute = wide.result = float64;
  EXPECT_FALSE(with_joined_exponentials(sum_with(4, wide))) << "exponentials of float32 summed in float64";
  KernelSpec other = exponential_sum();  // the maximum of another array
  other.inputs.push_back(float32);
  other.steps = {greatest_of(1), less(0, 2), exp_of(3), sum_of(4)};
  other.stores = {2, 5};
  EXPECT_FALSE(with_joined_exponentials(other));
}

TEST(JoinedExponentials, ServeFiniteNumbersOfTheTextInTheMaximumsPlace) {
  EXPECT_FALSE(with_joined_exponentials(guarded_sum(Scalar(std::numeric_limits<float>::infinity()))));
  EXPECT_FALSE(with_joined_exponentials(guarded_sum(Scalar(std::nanf("")))));
  KernelSpec given = guarded_sum();  // a launch may bring any number
  given.numbers = std::move(given.constants);
  given.constants.clear();
  EXPECT_FALSE(with_joined_exponentials(given));
  KernelSpec turned = guarded_sum();
  turned.steps[2].inputs = {3, 2, 1};
  EXPECT_TRUE(with_joined_exponentials(turned));
}

TEST(JoinedExponentials, ServeNoSpecThatGoesThroughRowsAsOften) {
  KernelSpec spec = exponential_sum();
  spec.steps.push_back(sum_of(2));
  spec.stores.push_back(5);
  spec.outputs.push_back(float32);
  EXPECT_FALSE(with_joined_exponentials(spec)) << "a sum of the differences";
}

TEST(JoinedExponentials, ServeFloatsOfEachWidth) {
  for (DType dtype : {float16, bfloat16, float32, float64}) {
    const std::optional<KernelSpec> form = with_joined_exponentials(of_dtype(dtype, exponential_sum()));
    ASSERT_TRUE(form) << name(dtype);
    const Join& join = *form->steps[1].join;
    EXPECT_EQ(join.members[0].first, dtype == float64 ? "double" : "float");
    EXPECT_EQ(join.bytes, dtype == float64 ? 16 : 8);
    EXPECT_EQ(form->steps[1].result, dtype == float64 ? float64 : float32) << "a pivot is no 16-bit float";
    EXPECT_EQ(form->steps.back().result, dtype);
  }
}

class JoinedExponentialsOfRows : public JoinedRows {
 protected:
  struct Sums {
    Values maxima, sums;
  };
  /// Of the spec's form.
  Sums found(const KernelSpec& spec, const Array& x, bool columns) const {
    Shape kept = x.shape();
    kept[columns ? 0 : 1] = 1;
    const Array maximum = Array::empty(kept, x.dtype(), device()), sum = Array::empty(kept, x.dtype(), device());
    run(*with_joined_exponentials(of_dtype(x.dtype(), spec)), x.shape(), columns ? 1u : 2u, {x, maximum, sum});
    return {maximum.to_doubles(), sum.to_doubles()};
  }
  /// Beyond float64. guarded: against 0 where the maximum is infinite.
  static Sums expected(const Array& x, bool columns, bool guarded = false) {
    const Values values = x.to_doubles();
    const std::int64_t count = x.shape()[columns ? 1 : 0], length = x.shape()[columns ? 0 : 1];
    Sums all;
    for (std::int64_t row = 0; row < count; ++row) {
      const auto at = [&](std::int64_t k) { return values[static_cast<std::size_t>(columns ? k * count + row : row * length + k)]; };
      double maximum = -kInfinity;
      for (std::int64_t k = 0; k < length; ++k) maximum = std::isnan(maximum) || at(k) < maximum ? maximum : at(k);
      const double center = guarded && std::isinf(maximum) ? 0 : maximum;
      long double sum = 0;
      for (std::int64_t k = 0; k < length; ++k) sum += std::exp(static_cast<long double>(at(k)) - center);
      all.maxima.push_back(maximum);
      all.sums.push_back(static_cast<double>(sum));
    }
    return all;
  }
};

TEST_P(JoinedExponentialsOfRows, AreThoseOfFloat64) {
  const std::vector<std::pair<const char*, Fill>> fills = {
      {"about 0", [](std::int64_t row, std::int64_t at, std::int64_t) { return normal(row, at); }},
      {"wide", [](std::int64_t row, std::int64_t at, std::int64_t) { return 40 * normal(row, at); }},
      {"about -10,000", [](std::int64_t row, std::int64_t at, std::int64_t) { return -1e4 + normal(row, at); }},
      {"slowly rising", [](std::int64_t row, std::int64_t at, std::int64_t length) { return static_cast<double>(at) / static_cast<double>(length) * static_cast<double>(row + 1); }},
      {"rising", [](std::int64_t row, std::int64_t at, std::int64_t) { return 0.0371 * static_cast<double>(at) - 50 * static_cast<double>(row); }},
      {"rising by more than a pivot stays", [](std::int64_t row, std::int64_t at, std::int64_t) { return 8.25 * static_cast<double>(at % 1000) - static_cast<double>(row); }},
      {"falling", [](std::int64_t row, std::int64_t at, std::int64_t) { return -0.0371 * static_cast<double>(at) - 50 * static_cast<double>(row); }},
      {"the greatest last", [](std::int64_t row, std::int64_t at, std::int64_t length) { return at == length - 1 ? 30.0 : normal(row, at); }},
      {"mostly -inf", [](std::int64_t row, std::int64_t at, std::int64_t) { return at % 7 == row % 7 ? normal(row, at) : -kInfinity; }},
      {"powers of 10", [](std::int64_t row, std::int64_t at, std::int64_t) { return (at % 2 == 0 ? 1 : -1) * std::pow(10.0, static_cast<double>((at + row) % 76 - 38)); }},
      {"all equal", [](std::int64_t row, std::int64_t, std::int64_t) { return 1e10 / static_cast<double>(row + 3); }}};
  double worst = 0;
  for (std::size_t kind = 0; kind < fills.size(); ++kind) {
    const auto& [what, fill] = fills[kind];
    const std::vector<Given> all = spaces();
    for (std::size_t space = 0; space < all.size(); ++space) {
      if (!testing::takes_pair(kind, space)) continue;
      const auto& [count, length, columns] = all[space];
      const Array x = rows(fill, count, length, columns);
      const Sums exact = expected(x, columns), sums = found(exponential_sum(), x, columns), guarded = found(guarded_sum(), x, columns);
      EXPECT_EQ(sums.maxima, exact.maxima) << what;
      for (std::size_t row = 0; row < sums.sums.size(); ++row) {
        if (std::isinf(exact.maxima[row])) continue;  // -inf alone
        worst = std::max(worst, std::abs(sums.sums[row] / exact.sums[row] - 1));
        ASSERT_NEAR(sums.sums[row] / exact.sums[row], 1, 2.5e-6) << what << ", " << count << " of " << length << (columns ? " columns" : " rows");
        ASSERT_NEAR(guarded.sums[row] / exact.sums[row], 1, 2.5e-6) << what << ", guarded, which may be cut into other chunks";
      }
    }
  }
  RecordProperty("greatest_error", std::to_string(worst));
}

TEST_P(JoinedExponentialsOfRows, AreThoseOfFloat64InFloat64) {
  const Fill fill = [](std::int64_t row, std::int64_t at, std::int64_t) { return 20 * normal(row, at); };
  for (const auto& [count, length, columns] : {Given{3, 20011, false}, Given{5, 3001, true}}) {
    const Array x = rows(fill, count, length, columns, float64);
    const Sums exact = expected(x, columns), sums = found(exponential_sum(), x, columns);
    EXPECT_EQ(sums.maxima, exact.maxima);
    for (std::size_t row = 0; row < sums.sums.size(); ++row) EXPECT_NEAR(sums.sums[row] / exact.sums[row], 1, 5e-15);
  }
}

TEST_P(JoinedExponentialsOfRows, HaveTheInfinitiesOfTwoPasses) {
  const Fill fill = [](std::int64_t row, std::int64_t at, std::int64_t length) { return static_cast<double>(infinite_value(row, at, length, static_cast<float>(normal(row, at)))); };
  const Fill several = [](std::int64_t row, std::int64_t at, std::int64_t) { return at % 3 == row % 3 ? kInfinity : at % 3 == 1 ? -kInfinity : normal(row, at); };
  const Fill behind = [](std::int64_t row, std::int64_t at, std::int64_t length) { return at == length - 1 && row % 2 == 0 ? kInfinity : normal(row, at); };
  const Fill least = [](std::int64_t row, std::int64_t at, std::int64_t) { return at % 2 == row % 2 ? -kInfinity : -static_cast<double>(std::numeric_limits<float>::max()); };
  const Fill most = [](std::int64_t row, std::int64_t at, std::int64_t) { return (at % 5 == row % 5 ? 1 : -1) * static_cast<double>(std::numeric_limits<float>::max()); };
  for (const auto& [count, length, columns] : {Given{18, 40, false}, Given{9, 5003, false}, Given{9, 70001, false}, Given{9, 5003, true}, Given{18, 40, true}, Given{300, 12, true}, Given{300, 2, true}, Given{9, 1, false}}) {
    for (const Fill& of : {fill, several, behind, least, most}) {
      const Array x = rows(of, count, length, columns);
      for (bool guarded : {false, true}) {
        const Sums sums = found(guarded ? guarded_sum() : exponential_sum(), x, columns), exact = expected(x, columns, guarded);
        for (std::size_t row = 0; row < sums.sums.size(); ++row) {
          const std::string where = std::to_string(count) + " of " + std::to_string(length) + (columns ? " columns" : " rows") + ", row " + std::to_string(row) + (guarded ? ", guarded" : "");
          if (std::isnan(exact.sums[row])) EXPECT_TRUE(std::isnan(sums.sums[row])) << where << ": " << sums.sums[row];
          else if (std::isinf(exact.sums[row]) || exact.sums[row] == 0) EXPECT_EQ(sums.sums[row], exact.sums[row]) << where;
          else EXPECT_NEAR(sums.sums[row] / exact.sums[row], 1, 2.5e-6) << where;
        }
      }
    }
  }
}

TEST_P(JoinedExponentialsOfRows, HaveTheSameBitsAtEachCall) {
  const Array x = rows([](std::int64_t row, std::int64_t at, std::int64_t) { return 5 * normal(row, at); }, 3, 70001, false);
  const Sums first = found(exponential_sum(), x, false);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(found(exponential_sum(), x, false).sums, first.sums);
}

/// Softmaxes and sums of exponentials among other joins, which later elements follow from.
KernelSpec random_softmaxes(std::mt19937& random) {
  RandomSteps steps(random);
  for (int pairs = 1 + steps.below(2); pairs > 0; --pairs) {
    steps.add_some();
    const int value = steps.any_element(), maximum = steps.add(greatest_of(value), false);
    const int apart = steps.add(less(value, maximum), true), power = steps.add(exp_of(apart), true), sum = steps.add(sum_of(power), false);
    if (steps.below(3) == 0) steps.add(map("log(x0) + x1", {sum, maximum}), false);
    if (steps.below(4) != 0) steps.add(map("x0 / x1", {power, sum}, 4), true);
    else steps.add(map("x0 - log(x1)", {apart, sum}), true);
    if (steps.below(4) == 0) steps.add(sum_of(steps.any_element()), false);
  }
  return steps.spec("softmaxes");
}

TEST_P(JoinedExponentialsOfRows, AreInRandomSpecsWhatTwoPassesGive) {
  int served = 0;
  for (unsigned seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const KernelSpec spec = random_softmaxes(random);
    const std::optional<KernelSpec> form = with_joined_exponentials(spec);
    if (!form) continue;
    ++served;
    expect_alike(spec, *form, seed, 0, 3);
  }
  EXPECT_GE(served, 8) << "the specs should give it something to do";
}

DAMO_ON_EACH_DEVICE(JoinedExponentialsOfRows);

}  // namespace
}  // namespace damo
