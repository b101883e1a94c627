#include "runtime/kernel/value_ranges.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "runtime/kernel/integer_programs.hpp"

namespace damo {
namespace {

/// Numbers near 0, powers of two and the limits of dtypes.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : random_(seed) {}
  std::int64_t any() {
    const int digits = below(64);
    const auto sized = static_cast<std::int64_t>(digits == 0 ? 0 : bits_() >> (64 - digits));
    const std::int64_t near = below(4) == 0 ? (digits < 63 ? std::int64_t{1} << digits : INT64_MAX) - below(3) + (digits < 62 ? 1 : 0) : sized;
    return below(2) == 0 ? near : -near;
  }
  ValueRange range() {
    const std::int64_t a = any(), b = below(3) == 0 ? a : any();
    return {std::min(a, b), std::max(a, b)};
  }
  std::int64_t within(const ValueRange& range) {
    const int way = below(4);
    if (way == 0) return range.least;
    if (way == 1) return range.most;
    const auto width = static_cast<std::uint64_t>(range.most) - static_cast<std::uint64_t>(range.least);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.least) + (width == UINT64_MAX ? bits_() : bits_() % (width + 1)));
  }
  int below(int end) { return static_cast<int>(bits_() % static_cast<std::uint64_t>(end)); }

 private:
  std::uint64_t bits_() { return random_(); }
  std::mt19937_64 random_;
};

void expect_holds(const std::string& code, std::size_t inputs, Numbers& numbers) {
  Step step;
  step.code = code;
  step.compute = step.result = int64;
  int known = 0;
  for (int i = 0; i < 4000; ++i) {
    const bool shifts = code.find("shift") != std::string::npos;
    std::vector<std::optional<ValueRange>> ranges;
    for (std::size_t k = 0; k < inputs; ++k) ranges.emplace_back(code == "choose(x0, x1, x2)" && k == 0 ? ValueRange{0, 1} : numbers.range());
    if (shifts && numbers.below(2) == 0) {
      const std::int64_t a = numbers.below(70) - 3, b = numbers.below(70) - 3;
      ranges[1] = ValueRange{std::min(a, b), std::max(a, b)};
    }
    for (int bits : {32, 64}) {
      const std::optional<ValueRange> range = range_of_code(step, ranges, bits);
      if (!range) continue;
      if (bits == 32 && !std::all_of(ranges.begin(), ranges.end(), [](const auto& input) { return input->fits(kShortRange); })) continue;
      ++known;
      for (int k = 0; k < 12; ++k) {
        WideInteger x[3] = {};
        for (std::size_t n = 0; n < inputs; ++n) x[n] = numbers.within(*ranges[n]);
        const WideInteger value = value_of_code(code, x[0], x[1], x[2], bits);
        ASSERT_TRUE(value >= range->least && value <= range->most)
            << code << " of " << static_cast<std::int64_t>(x[0]) << ", " << static_cast<std::int64_t>(x[1]) << ", " << static_cast<std::int64_t>(x[2]) << ": not from " << range->least << " to " << range->most;
      }
    }
  }
  EXPECT_GT(known, 100) << code;
}

TEST(ValueRanges, HoldWhatTheCodeGives) {
  Numbers numbers(1);
  for (const std::string& code : codes_of_one()) expect_holds(code, 1, numbers);
  for (const std::string& code : codes_of_two()) expect_holds(code, 2, numbers);
  for (const std::string& code : codes_of_questions()) expect_holds(code, 2, numbers);
  for (const char* code : {"choose(x0, x1, x2)", "minimum(maximum(x0, x1), x2)"}) expect_holds(code, 3, numbers);
}

std::optional<ValueRange> of(const std::string& code, std::vector<std::optional<ValueRange>> inputs) {
  Step step;
  step.code = code;
  step.compute = step.result = int64;
  return range_of_code(step, inputs, 64);
}

TEST(ValueRanges, AreTight) {
  EXPECT_EQ(of("wrap_mul(x0, x1)", {ValueRange{-3, 5}, ValueRange{-7, 2}}), (ValueRange{-35, 21}));
  EXPECT_EQ(of("floor_div(x0, x1)", {ValueRange{-7, 7}, ValueRange{2, 2}}), (ValueRange{-4, 3}));
  EXPECT_EQ(of("floor_mod(x0, x1)", {ValueRange{INT64_MIN, INT64_MAX}, ValueRange{64, 64}}), (ValueRange{0, 63}));
  EXPECT_EQ(of("x0 & x1", {ValueRange{INT64_MIN, INT64_MAX}, ValueRange{255, 255}}), (ValueRange{0, 255}));
  EXPECT_EQ(of("minimum(maximum(x0, x1), x2)", {ValueRange{INT64_MIN, INT64_MAX}, ValueRange{0, 0}, ValueRange{9, 9}}), (ValueRange{0, 9}));
  EXPECT_EQ(of("right_shift(x0, x1)", {ValueRange{-1, 1024}, ValueRange{3, 3}}), (ValueRange{-1, 128}));
  EXPECT_EQ(of("wrap_abs(x0)", {ValueRange{-9, -4}}), (ValueRange{4, 9}));
}

TEST(ValueRanges, AreUnknownWhereNumbersLeaveTheDtypeOrTheCodeIsAUsers) {
  EXPECT_EQ(of("wrap_add(x0, x1)", {ValueRange{0, INT64_MAX}, ValueRange{0, 1}}), std::nullopt);
  EXPECT_EQ(of("wrap_neg(x0)", {ValueRange{INT64_MIN, 0}}), std::nullopt);
  EXPECT_EQ(of("floor_div(x0, x1)", {ValueRange{INT64_MIN, 0}, ValueRange{-1, 1}}), std::nullopt);
  EXPECT_EQ(of("left_shift(x0, x1)", {ValueRange{1, 1}, ValueRange{0, 63}}), std::nullopt);
  EXPECT_EQ(of("x0 * x0 - 3", {ValueRange{0, 1}}), std::nullopt);
  Step step;
  step.code = "wrap_add(x0, x1)";
  step.row = {"user.cpp", 3};
  const std::vector<std::optional<ValueRange>> inputs{ValueRange{0, 1}, ValueRange{0, 1}};
  EXPECT_EQ(range_of_code(step, inputs, 64), std::nullopt);
}

TEST(ValueRanges, FollowConversionsFromStepToStep) {
  KernelSpec spec;
  spec.inputs = {int8, int64};
  Step widened, narrowed, bits;
  widened.code = narrowed.code = bits.code = "x0";
  widened.compute = int8, widened.result = int64, widened.inputs = {0};
  narrowed.compute = int64, narrowed.result = uint8, narrowed.inputs = {1};
  bits.compute = int64, bits.result = bool_, bits.inputs = {1};
  spec.steps = {widened, narrowed, bits};
  const auto ranges = value_ranges(spec, {range_of(int8), range_of(int64)}, {});
  EXPECT_EQ(ranges[2], (ValueRange{-128, 127}));
  EXPECT_EQ(ranges[3], (ValueRange{0, 255})) << "what wraps may be anything";
  EXPECT_EQ(ranges[4], (ValueRange{0, 1}));
  EXPECT_EQ(range_of(uint64), std::nullopt);
  EXPECT_EQ(range_of(float32), std::nullopt);
  EXPECT_EQ(range_of(uint32), (ValueRange{0, 4294967295}));
}

}  // namespace
}  // namespace damo
