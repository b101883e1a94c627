#include "ops/rows.hpp"

#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace damo {
namespace {

const ElementwiseRow& row_named(std::string_view name) {
  for (const ElementwiseRow& row : builtin_rows()) {
    if (row.name == name) return row;
  }
  throw std::out_of_range(std::string(name));
}

/// The code with everything cut out that stands in the parentheses of a T(...).
std::string without_casts(std::string_view code) {
  return std::regex_replace(std::string(code), std::regex("\\bT\\([^()]*\\)"), "T");
}

TEST(Rows, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const ElementwiseRow& row : builtin_rows()) EXPECT_TRUE(names.insert(row.name).second) << row.name;
  EXPECT_GE(names.size(), 70u);
}

TEST(Rows, EachHasADocOfOneLine) {
  for (const ElementwiseRow& row : builtin_rows()) {
    EXPECT_GT(row.doc.size(), 0u) << row.name;
    EXPECT_EQ(row.doc.find('\n'), row.doc.npos) << row.name;
    EXPECT_NE(row.doc.back(), '.') << row.name;
  }
}

TEST(Rows, NoCodeHoldsABareDouble) {
  // A bare 0.5 would make a float32 kernel compute in float64.
  const std::regex literal("[0-9]*\\.[0-9]|[0-9]\\.|[0-9]e[-+]?[0-9]");
  EXPECT_TRUE(std::regex_search(without_casts("T(2) * x0 + 0.5"), literal));
  EXPECT_TRUE(std::regex_search(without_casts("x0 * 1e3"), literal));
  EXPECT_FALSE(std::regex_search(without_casts("x0 * T(0.5) + T(-1e3)"), literal));
  for (const ElementwiseRow& row : builtin_rows()) {
    for (const std::string_view code : {row.code, row.integer_code, row.bool_code}) {
      EXPECT_FALSE(std::regex_search(without_casts(code), literal)) << row.name << ": " << code;
    }
  }
}

TEST(Rows, EveryCodeNamesEveryInput) {
  for (const ElementwiseRow& row : builtin_rows()) {
    for (const std::string_view code : {row.code, row.integer_code, row.bool_code}) {
      for (int i = 0; i < arity(row) && !code.empty(); ++i) {
        EXPECT_NE(code.find("x" + std::to_string(i)), code.npos) << row.name << ": " << code;
      }
    }
  }
}

TEST(Rows, ArityIsOneMoreThanTheGreatestInput) {
  EXPECT_EQ(arity(row_named("exp")), 1);
  EXPECT_EQ(arity(row_named("add")), 2);
  EXPECT_EQ(arity(row_named("where")), 3);
  EXPECT_EQ(arity({.name = "f", .code = "max2(x0, ax3) + x10"}), 11);
  EXPECT_EQ(arity({.name = "f", .code = "x0", .integer_code = "x0 + x1"}), 2);
  EXPECT_EQ(arity({.name = "f", .code = "x1y + x"}), 0);
}

TEST(Rows, CodeFallsBackFromBoolToIntegerToFloating) {
  const ElementwiseRow row{.name = "f", .code = "x0", .integer_code = "x0 + 1"};
  EXPECT_EQ(code_for(row, float16), "x0");
  EXPECT_EQ(code_for(row, uint8), "x0 + 1");
  EXPECT_EQ(code_for(row, bool_), "x0 + 1");
  EXPECT_EQ(code_for(row_named("invert"), bool_), "!x0");
}

TEST(Rows, ResultFollowsNumPy) {
  EXPECT_EQ(result_of(row_named("exp"), int32), float64);
  EXPECT_EQ(result_of(row_named("exp"), bool_), float16);
  EXPECT_EQ(result_of(row_named("exp"), bfloat16), bfloat16);
  EXPECT_EQ(result_of(row_named("true_div"), int8), float64);
  EXPECT_EQ(result_of(row_named("true_div"), float16), float16);
  EXPECT_EQ(result_of(row_named("lt"), int8), bool_);
  EXPECT_EQ(computed_in(row_named("lt"), int8), int8);
  EXPECT_EQ(result_of(row_named("floor"), int8), int8);
  EXPECT_EQ(result_of(row_named("add"), bool_), bool_);
}

TEST(Rows, DomainRefusesWhatNumPyRefuses) {
  for (const char* name : {"sub", "neg", "sign"}) EXPECT_FALSE(takes(row_named(name), bool_)) << name;
  for (const char* name : {"and_", "or_", "xor_", "invert"}) {
    EXPECT_FALSE(takes(row_named(name), float32)) << name;
    EXPECT_TRUE(takes(row_named(name), bool_) && takes(row_named(name), uint64)) << name;
  }
  for (const char* name : {"add", "mul", "exp", "true_div", "lt", "maximum", "where"})
    EXPECT_TRUE(takes(row_named(name), bool_)) << name;
}

TEST(Rows, KnowTheirLine) {
  const ElementwiseRow &add = row_named("add"), &sub = row_named("sub");
  EXPECT_EQ(add.file, "damo/ops/rows.inc");
  EXPECT_LT(add.line, sub.line);
}

}  // namespace
}  // namespace damo
