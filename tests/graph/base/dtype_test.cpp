#include <damo/dtype.hpp>

#include <gtest/gtest.h>
#include <damo/error.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace damo {
namespace {

/// Those that are promoted.
const std::vector<DType> kPromotedDTypes = [] {
  std::vector<DType> dtypes;
  std::copy_if(std::begin(kAllDTypes), std::end(kAllDTypes), std::back_inserter(dtypes), [](DType dtype) { return !is_float8(dtype); });
  return dtypes;
}();
constexpr int kCount = std::size(kAllDTypes) - 2;
int place(DType dtype) { return static_cast<int>(std::find(kPromotedDTypes.begin(), kPromotedDTypes.end(), dtype) - kPromotedDTypes.begin()); }
constexpr DType b1 = bool_, i1 = int8, i2 = int16, i4 = int32, i8 = int64, u1 = uint8, u2 = uint16, u4 = uint32,
                u8 = uint64, f2 = float16, bf = bfloat16, f4 = float32, f8 = float64;

// Printed by NumPy 2.4.6's result_type, dtypes in the order of kPromotedDTypes; NumPy has no bfloat16, whose row and column
// are float16's with itself in float16's place, and float32 where the two meet.
constexpr DType kPromoted[kCount][kCount] = {
    {b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, bf, f4, f8},  //
    {i1, i1, i2, i4, i8, i2, i4, i8, f8, f2, bf, f4, f8},  //
    {i2, i2, i2, i4, i8, i2, i4, i8, f8, f4, f4, f4, f8},  //
    {i4, i4, i4, i4, i8, i4, i4, i8, f8, f8, f8, f8, f8},  //
    {i8, i8, i8, i8, i8, i8, i8, i8, f8, f8, f8, f8, f8},  //
    {u1, i2, i2, i4, i8, u1, u2, u4, u8, f2, bf, f4, f8},  //
    {u2, i4, i4, i4, i8, u2, u2, u4, u8, f4, f4, f4, f8},  //
    {u4, i8, i8, i8, i8, u4, u4, u4, u8, f8, f8, f8, f8},  //
    {u8, f8, f8, f8, f8, u8, u8, u8, u8, f8, f8, f8, f8},  //
    {f2, f2, f4, f8, f8, f2, f4, f8, f8, f2, f4, f4, f8},  //
    {bf, bf, f4, f8, f8, bf, f4, f8, f8, f4, bf, f4, f8},  //
    {f4, f4, f4, f8, f8, f4, f4, f8, f8, f4, f4, f4, f8},  //
    {f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8, f8},
};

DType result(std::vector<Promotable> operands) { return result_type(operands); }

TEST(DType, PromotesAsNumPyDoes) {
  for (const DType a : kPromotedDTypes) {
    for (const DType b : kPromotedDTypes) {
      EXPECT_EQ(name(promote(a, b)), name(kPromoted[place(a)][place(b)])) << name(a) << " with " << name(b);
    }
  }
}

TEST(DType, TableOfTheManualIsTheTableOfTheCode) {
  std::ifstream file(DAMO_SOURCE_DIR "/docs/promotion.md");
  int row = 0;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| **")) continue;
    ASSERT_LT(row, kCount);
    const DType a = kPromotedDTypes[static_cast<std::size_t>(row++)];
    std::string expected = "| **" + std::string(name(a)) + "** |";
    for (const DType b : kPromotedDTypes) expected += " " + std::string(name(promote(a, b))) + " |";
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(row, kCount);
}

TEST(DType, ResultOfSeveralDoesNotDependOnTheirOrder) {
  // NumPy's result_type of the three; a fold from the left gives float32 and float64 for the first two.
  EXPECT_EQ(result({{i1}, {u1}, {f2}}), f2);
  EXPECT_EQ(result({{i1}, {u2}, {f4}}), f4);
  EXPECT_EQ(result({{i2}, {u2}, {f2}}), f4);
  EXPECT_EQ(result({{i1}, {u4}, {f4}}), f8);
  for (const DType a : kPromotedDTypes)
    for (const DType b : kPromotedDTypes)
      for (const DType c : kPromotedDTypes) {
        const DType first = result({{a}, {b}, {c}});
        EXPECT_EQ(first, result({{b}, {c}, {a}})) << name(a) << " " << name(b) << " " << name(c);
        EXPECT_EQ(first, result({{c}, {b}, {a}})) << name(a) << " " << name(b) << " " << name(c);
      }
}

TEST(DType, PromotesFloatsOf8BitsByNothingButBools) {
  for (const DType a : {float8_e4m3, float8_e5m2}) {
    for (const DType b : kAllDTypes) {
      if (a == b || b == bool_) {
        EXPECT_EQ(promote(a, b), a);
        EXPECT_EQ(promote(b, a), a);
        continue;
      }
      for (const auto& [x, y] : {std::pair(a, b), {b, a}}) {
        try {
          promote(x, y);
          ADD_FAILURE() << name(x) << " with " << name(y) << ": no error";
        } catch (const TypeError& error) {
          EXPECT_NE(std::string(error.what()).find("is never promoted"), std::string::npos) << error.what();
          EXPECT_NE(std::string(error.what()).find("cast it to float32 first"), std::string::npos) << error.what();
        }
      }
    }
  }
}

TEST(DType, WeakNumberTakesTheOtherOperandsDType) {
  for (const DType a : kAllDTypes) {
    EXPECT_EQ(result({{a}, {bool_, true}}), a) << name(a);
    EXPECT_EQ(result({{int64, true}, {a}}), a == bool_ ? int64 : a) << name(a);
    EXPECT_EQ(result({{a}, {float64, true}}), is_floating(a) ? a : float64) << name(a);
  }
  EXPECT_EQ(result({{i1}, {f4}, {float64, true}}), f4);
}

TEST(DType, WeakNumbersAloneGiveTheDefaultOfTheirKind) {
  EXPECT_EQ(result({{bool_, true}}), bool_);
  EXPECT_EQ(result({{bool_, true}, {int64, true}}), int64);
  EXPECT_EQ(result({{int64, true}, {float64, true}}), float32);
}

TEST(DType, FloatingDTypeOfAnIntegerHoldsIt) {
  // The dtype of numpy.exp of each.
  const DType expected[kCount] = {f2, f2, f4, f8, f8, f2, f4, f8, f8, f2, bf, f4, f8};
  for (const DType a : kPromotedDTypes) EXPECT_EQ(name(floating_of(a)), name(expected[place(a)])) << name(a);
}

TEST(DType, IsFoundByItsName) {
  for (const DType a : kAllDTypes) EXPECT_EQ(dtype_named(name(a)), a);
  EXPECT_EQ(name(float16), "float16");
  try {
    dtype_named("float");
    FAIL() << "no error";
  } catch (const TypeError& error) {
    EXPECT_NE(std::string(error.what()).find("\"float\""), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("bool, int8, "), std::string::npos) << error.what();
  }
}

TEST(DType, FollowsFromTheHostType) {
  static_assert(dtype_of<const float>() == float32 && dtype_of<long long>() == int64 && dtype_of<char16_t>() == uint16);
  for (const DType a : kAllDTypes) {
    visit(a, [a](auto zero) {
      EXPECT_EQ(dtype_of<decltype(zero)>(), a);
      EXPECT_EQ(sizeof zero, itemsize(a));
    });
  }
}

}  // namespace
}  // namespace damo
