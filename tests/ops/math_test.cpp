#include <damo/ops/math.hpp>

#include <gtest/gtest.h>
#include <damo/error.hpp>

#include <cmath>
#include <string>
#include <type_traits>

#include "ops/rows.hpp"

namespace {

using namespace damo;
using namespace std;  // as a user's file may: the overloads of <cmath> stand beside ours

const Variable x = damo::vector("x"), y = damo::vector("y"), counts = damo::vector("counts", int32);

string op_of(const Variable& variable) { return variable.owner().op().name(); }

TEST(Math, FunctionsOfNumbersStayThoseOfC) {
  static_assert(is_same_v<decltype(exp(1.5)), double> && is_same_v<decltype(exp(1.5f)), float>);
  static_assert(is_same_v<decltype(pow(1.5, 2)), double> && is_same_v<decltype(abs(-3)), int>);
  static_assert(is_same_v<decltype(isnan(1.0)), bool> && is_same_v<decltype(hypot(1.0, 2.0)), double>);
  EXPECT_EQ(op_of(exp(x)), "exp");
  EXPECT_EQ(op_of(isnan(x)), "isnan");
}

TEST(Math, FunctionsOfTwoTakeANumberOnEitherSide) {
  EXPECT_EQ(pow(x, 2.0).owner().inputs().size(), 2u);
  EXPECT_EQ(op_of(pow(2, x)), "pow");
  EXPECT_EQ(op_of(atan2(1.0, x)), "atan2");
  EXPECT_EQ(op_of(hypot(x, y)), "hypot");
  EXPECT_EQ(op_of(maximum(x, 0)), "maximum");
  EXPECT_TRUE(pow(2, x).owner().input(0).is_constant());
  EXPECT_TRUE(pow(2, x).owner().input(1).is_same(x));
}

TEST(Math, OperatorsAreTheirRows) {
  EXPECT_EQ(op_of(x + 1.5), "add");
  EXPECT_EQ(op_of(1.5 - x), "sub");
  EXPECT_EQ(op_of(x * y), "mul");
  EXPECT_EQ(op_of(2.0f / x), "true_div");
  EXPECT_EQ(op_of(counts % 3), "mod");
  EXPECT_EQ(op_of(-x), "neg");
  EXPECT_EQ(op_of(x < 3), "lt");
  EXPECT_EQ(op_of(x <= y), "le");
  EXPECT_EQ(op_of(0 > x), "gt");
  EXPECT_EQ(op_of(x >= y), "ge");
  EXPECT_EQ(op_of(counts & 1), "and_");
  EXPECT_EQ(op_of(counts | 1), "or_");
  EXPECT_EQ(op_of((x < y) ^ true), "xor_");
  EXPECT_EQ(op_of(~counts), "invert");
  EXPECT_EQ((x < y).dtype(), bool_);
  EXPECT_EQ((counts / 2).dtype(), float64);
  EXPECT_EQ((x + 1.5).dtype(), float32);
}

TEST(Math, FunctionsOfIntegersOfTwoKindsAreOfTheFirstFloatThatTakesBoth) {
  // NumPy: np.hypot(np.int8(1), np.uint8(1)).dtype is float16, though the two promote to int16.
  const auto of = [](DType a, DType b) { return hypot(damo::vector("a", a), damo::vector("b", b)).dtype(); };
  EXPECT_EQ(of(int8, uint8), float16);
  EXPECT_EQ(of(int8, uint16), float32);
  EXPECT_EQ(of(uint16, int16), float32);
  EXPECT_EQ(of(bool_, int8), float16);
  EXPECT_EQ(of(int8, int32), float64);
  EXPECT_EQ(of(uint16, float16), float32);
  EXPECT_EQ(of(uint64, int8), float64);
  EXPECT_EQ(hypot(damo::vector("a", int8), 3).dtype(), float16);
}

TEST(Math, PowersOfBoolsPromoteAsSumsOfThemDo) {
  // np.power(b, 2).dtype and (b + 2).dtype are int64; that of b ** 2 is int8, for which NumPy takes np.square.
  const Variable flag = damo::vector("flag", bool_);
  EXPECT_EQ(pow(flag, 2).dtype(), int64);
  EXPECT_EQ((flag + 2).dtype(), int64);
  EXPECT_EQ(pow(flag, 2.0).dtype(), float64);
  EXPECT_EQ(pow(flag, damo::vector("n", int8)).dtype(), int8);
  EXPECT_THROW(pow(flag, flag), TypeError);
}

TEST(Math, EveryCallCarriesTheUsersLine) {
  EXPECT_EQ(exp(x).where().line, __LINE__);
  EXPECT_EQ((x + y).where().line, __LINE__);
  EXPECT_EQ((2.0 * x).where().line, __LINE__);
  EXPECT_EQ((-x).where().line, __LINE__);
  EXPECT_EQ(where(x < y, x, 0.0).where().line, __LINE__);
  EXPECT_NE(string((x + y).where().file).find("math_test.cpp"), string::npos);
}

TEST(Math, EveryFunctionAppliesTheRowOfItsName) {
  const Variable flag = damo::vector("flag", bool_);
  const auto input_of = [&](string_view name) {
    for (const ElementwiseRow& row : builtin_rows()) {
      if (row.name == name) return row.condition_first ? flag : row.domain == Domain::kIntegersAndBool || row.domain == Domain::kIntegers ? counts : x;
    }
    return Variable();
  };
#define DAMO_ROW1(row, ...) EXPECT_EQ(op_of(damo::row(input_of(#row))), #row);
#define DAMO_ROW2(row, ...) EXPECT_EQ(op_of(damo::row(input_of(#row), input_of(#row))), #row);
#define DAMO_ROW3(row, ...) EXPECT_EQ(op_of(damo::row(input_of(#row), x, x)), #row);
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3
}

TEST(Math, RefusesADTypeOutsideOfTheRowsDomain) {
  const Variable flag = damo::vector("flag", bool_);
  EXPECT_THROW(-flag, TypeError);
  EXPECT_THROW(flag - flag, TypeError);
  EXPECT_THROW(x & y, TypeError);
  EXPECT_NO_THROW(flag + flag);
}

}  // namespace
