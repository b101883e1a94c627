#include "runtime/kernel/short_integers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel/integer_programs.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

Step step_of(const std::string& code, std::vector<int> inputs, DType result = int64, DType compute = int64) {
  Step step;
  step.name = "step";
  step.code = code;
  step.inputs = std::move(inputs);
  step.compute = compute;
  step.result = result;
  return step;
}

Step place_step() {
  Step step = step_of("", {});
  step.is_place = true;
  return step;
}

/// x where column <= row * 4, else 0: of (rows, columns), the places being ordinals.
KernelSpec mask() {
  KernelSpec spec;
  spec.name = "mask";
  spec.inputs = {int32, int64, int64};
  spec.ordinals = {{}, 0b10, 0b01};
  spec.constants = {Scalar(std::int64_t{4}), Scalar(0).cast(int32)};
  spec.steps = {step_of("wrap_mul(x0, x1)", {1, 3}), step_of("x0 <= x1", {2, 5}, bool_), step_of("choose(x0, x1, x2)", {6, 0, 4}, int32, int32)};
  spec.steps[2].condition_first = true;
  spec.stores = {7};
  spec.outputs = {int32};
  return spec;
}

std::vector<int> digits_in(const KernelSpec& spec, const Shape& space, std::span<const Scalar> numbers = {}) {
  const Strides strides = contiguous_strides(space);
  std::vector<ArrayLayout> arrays;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (!spec.is_ordinals(i)) arrays.push_back({&space, &strides});
  }
  return most_digits(spec, digits_of(spec, geometry_of(spec, space, arrays), numbers));
}

TEST(ShortIntegers, AreThoseThatFitWithAllThatTheyAreMadeOf) {
  const KernelSpec spec = mask();
  const std::vector<int> digits = digits_in(spec, {1024, 4096});
  EXPECT_EQ(digits, (std::vector{29, 31})) << "as many digits as change nothing";
  const KernelSpec made = with_short_integers(spec, digits);
  EXPECT_EQ(made.inputs, (std::vector{int32, int32, int32}));
  EXPECT_EQ(made.steps[0].compute, int32);
  EXPECT_EQ(made.steps[0].result, int32);
  EXPECT_EQ(made.steps[1].compute, int32);
  EXPECT_EQ(made.steps[1].result, bool_);
  EXPECT_EQ(made.steps[2], spec.steps[2]);
  EXPECT_EQ(digits_in(spec, {7, 3}), digits) << "one text for all shapes that it is right for";
  EXPECT_EQ(digits_in(spec, {std::int64_t{1} << 29, 3}), digits) << "2^29 - 1 is the last";
}

TEST(ShortIntegers, AreFewerWhereALengthIsGreater) {
  const KernelSpec spec = mask();
  const std::vector<int> digits = digits_in(spec, {(std::int64_t{1} << 29) + 1, 3});
  EXPECT_EQ(digits, std::vector<int>()) << "row * 4 may be 2^31: nothing of the mask is short";
  const KernelSpec made = with_short_integers(spec, digits);
  EXPECT_EQ(made.inputs, spec.inputs);
  EXPECT_EQ(made.steps, spec.steps);
  EXPECT_EQ(digits_in(spec, {3, (std::int64_t{1} << 31) + 1}), (std::vector{29, 63})) << "the column is long, the row is not";
}

TEST(ShortIntegers, DependOnNumbersThatTheLaunchBrings) {
  KernelSpec spec = mask();
  spec.numbers = {Scalar(std::int64_t{7})};  // in the place of 4
  spec.constants.erase(spec.constants.begin());
  const Scalar few[] = {Scalar(std::int64_t{-7})}, many[] = {Scalar(std::int64_t{1} << 40)};
  EXPECT_EQ(with_short_integers(spec, digits_in(spec, {1024, 4096})).steps[0].compute, int32);
  EXPECT_EQ(with_short_integers(spec, digits_in(spec, {1024, 4096}, few)).steps[0].compute, int32);
  EXPECT_EQ(with_short_integers(spec, digits_in(spec, {1024, 4096}, many)).steps[0].compute, int64);
}

TEST(ShortIntegers, LeaveAUsersCodeTurnsAndWhatOthersReadInSixtyFourBits) {
  KernelSpec spec = mask();
  spec.steps[0].row = {"user.cpp", 1};
  EXPECT_EQ(with_short_integers(spec, digits_in(spec, {10, 10})).steps, spec.steps);
  spec = mask();
  spec.users_text = UsersText{};
  EXPECT_EQ(with_short_integers(spec, digits_in(spec, {10, 10})).steps, spec.steps);
  spec = mask();
  spec.stores = {7, 1};
  spec.outputs = {int32, int64};
  const KernelSpec made = with_short_integers(spec, digits_in(spec, {10, 10}));
  EXPECT_EQ(made.inputs, (std::vector{int32, int64, int32})) << "the row is stored as it is counted";
  EXPECT_EQ(made.steps[0].compute, int32);
}

TEST(ShortIntegers, ServeLaunchesWithAsManyDigitsOrFewer) {
  const std::vector<int> any, few{10, 31}, more{29, 31};
  EXPECT_TRUE(digits_serve(any, few));
  EXPECT_TRUE(digits_serve(more, few));
  EXPECT_FALSE(digits_serve(few, more));
  EXPECT_FALSE(digits_serve(few, any));
  Layout code{.access = {Access::kDense}}, data = code;
  code.digits = few, data.digits = more;
  EXPECT_FALSE(serves(code, data, 1000));
  EXPECT_FALSE(serves(code, data, 1)) << "a number may be great where elements are few";
  EXPECT_TRUE(serves(data, code, 1000));
}

/// Steps on ordinals, places, arrays, numbers and constants, at random, most of which are computed in 64 bits.
class Programs {
 public:
  explicit Programs(unsigned seed) : random_(seed) {}

  void make() {
    spec = {};
    spec.name = "program";
    spec.inputs = {int64, int64, int32, uint8, uint32, int64};
    spec.ordinals = {0b01, 0b10};
    digits = {1 + below(40), 1 + below(34), 1 + below(34)};
    for (int i = 0; i < 2; ++i) {
      digits.push_back(below(36));
      spec.numbers.push_back(Scalar(std::int64_t{0}));
    }
    for (int i = 0; i < 4; ++i) spec.constants.push_back(Scalar(edge()));
    spec.steps = {place_step()};
    const int steps = 3 + below(10);
    for (int i = 0; i < steps; ++i) append();
    spec.stores = {spec.first_step() + steps};
    spec.outputs = {spec.steps.back().result};
  }

  std::vector<WideInteger> leaves() {
    std::vector<WideInteger> values;
    for (int i = 0; i < 2; ++i) values.push_back(WideInteger(within(digits[static_cast<std::size_t>(i)])));
    for (DType dtype : {int32, uint8, uint32, int64}) values.push_back(held(WideInteger(below(2) == 0 ? edge() : static_cast<std::int64_t>(random_())), dtype));
    for (int i = 3; i < 5; ++i) values.push_back(WideInteger(below(2) == 0 ? within(digits[static_cast<std::size_t>(i)]) : -within(digits[static_cast<std::size_t>(i)]) - 1));
    for (const Scalar& constant : spec.constants) values.push_back(WideInteger(constant.as_int()));
    place = WideInteger(within(digits[2]));
    return values;
  }

  std::vector<WideInteger> run(const KernelSpec& of, std::vector<WideInteger> values) const {
    for (const Step& step : of.steps) values.push_back(value_of_step(step, values, place));
    return values;
  }

  KernelSpec spec;
  std::vector<int> digits;
  WideInteger place = 0;

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<std::uint64_t>(end)); }
  std::int64_t within(int digits) {
    const std::int64_t last = (std::int64_t{1} << digits) - 1;
    return below(3) == 0 ? last : static_cast<std::int64_t>(random_()) & last;
  }
  std::int64_t edge() {
    static constexpr std::int64_t kEdges[] = {0, 1, -1, 2, -2, 3, 4, 7, -128, 255, 1000, 65535, 65536, INT32_MAX, INT32_MIN, std::int64_t{INT32_MAX} + 1, std::int64_t{INT32_MIN} - 1, std::int64_t{1} << 32, INT64_MAX, INT64_MIN};
    return kEdges[below(static_cast<int>(std::size(kEdges)))];
  }
  void append() {
    static constexpr DType kResults[] = {int64, int64, int64, int64, int32, uint32, int8, bool_};
    const auto any = [&] { return below(spec.first_step() + static_cast<int>(spec.steps.size())); };
    const int kind = below(10);
    const auto pick = [&](const std::vector<std::string>& codes) { return codes[static_cast<std::size_t>(below(static_cast<int>(codes.size())))]; };
    const DType compute = below(6) == 0 ? int32 : int64;
    if (kind < 2) spec.steps.push_back(step_of(pick(codes_of_one()), {any()}, kResults[below(8)], compute));
    else if (kind < 7) spec.steps.push_back(step_of(pick(codes_of_two()), {any(), any()}, compute, compute));
    else if (kind < 8) spec.steps.push_back(step_of(pick(codes_of_questions()), {any(), any()}, bool_, compute));
    else spec.steps.push_back(step_of(kind < 9 ? "choose(x0, x1, x2)" : "minimum(maximum(x0, x1), x2)", {any(), any(), any()}, compute, compute));
    spec.steps.back().condition_first = kind == 8;
  }
  std::mt19937_64 random_;
};

TEST(ShortIntegers, AreTheNumbersThatSixtyFourBitsGive) {
  Programs programs(7);
  int made_short = 0, left = 0;
  for (int i = 0; i < 6000; ++i) {
    programs.make();
    const KernelSpec made = with_short_integers(programs.spec, programs.digits);
    for (std::size_t k = 1; k < made.steps.size(); ++k) ++(made.steps[k].compute != programs.spec.steps[k].compute ? made_short : left);
    for (int launch = 0; launch < 6; ++launch) {
      const std::vector<WideInteger> leaves = programs.leaves();
      ASSERT_TRUE(programs.run(made, leaves) == programs.run(programs.spec, leaves)) << "program " << i;
    }
  }
  EXPECT_GT(made_short, 3000);
  EXPECT_GT(left, 3000);
}

}  // namespace
}  // namespace damo
