// Which steps of 16-bit floats take the shorter functions.
#include "runtime/kernel/half_code.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

std::string code_of(const std::string& code, DType result = bfloat16, DType compute = float32) {
  Step step;
  step.code = code;
  step.compute = compute;
  step.result = result;
  return half_code(step);
}

TEST(HalfCode, TakesThemWhereTheyAreFactorsOfAProduct) {
  EXPECT_EQ(code_of("exp(x0)"), "to_half::exp(x0)");
  EXPECT_EQ(code_of("exp(x0)", float16), "to_half::exp(x0)");
  EXPECT_EQ(code_of("exp(x0)", bfloat16, bfloat16), "to_half::exp(x0)") << "which is computed in float32";
  for (const std::string name : {"log", "log1p", "erf"}) EXPECT_EQ(code_of(name + "(x0)"), "to_half::" + name + "(x0)");
  EXPECT_EQ(code_of("x0 * sigmoid(x0)"), "x0 * to_half::sigmoid(x0)");
  EXPECT_EQ(code_of("T(0.5) * x0 * erfc(x0 * T(-0.7071067811865476))"), "T(0.5) * x0 * to_half::erfc(x0 * T(-0.7071067811865476))");
  EXPECT_EQ(code_of("softplus(x0) * T(1e-05) * exp(x1)"), "to_half::softplus(x0) * T(1e-05) * to_half::exp(x1)");
}

TEST(HalfCode, LeavesWhereTheirErrorCouldGrow) {
  for (const char* code : {"exp(x0) - T(1)", "exp(x0) + x1", "x0 / (T(1) + exp(-x0))", "(exp(x0) - T(1)) * x0", "x0 * exp(x0) - x1", "exp(x0) * x0 + x1", "exp(x0) < x1 ? x0 : x1", "exp(x0) * -x0", "expm1(x0)", "exp2(x0)", "exp(x0) * floor(x0)",
                           "exp(x0) - exp(x1)", "log2(x0)", "log10(x0)", "logit(x0)", "x0 * log(x0) - x1", "sqrt(x0)", "x0 / x1", "exp(x0", "exp)x0(", "exp(x0) * exp", ""}) {
    EXPECT_EQ(code_of(code), code);
  }
  EXPECT_EQ(code_of("log(exp(x0))"), "to_half::log(exp(x0))");
  EXPECT_EQ(code_of("exp(exp(x0) - T(1))"), "to_half::exp(exp(x0) - T(1))") << "what a function is of keeps the longer one";
}

TEST(HalfCode, LeavesResultsOfOtherTypes) {
  EXPECT_EQ(code_of("exp(x0)", float32), "exp(x0)");
  EXPECT_EQ(code_of("exp(x0)", float64, float64), "exp(x0)");
  EXPECT_EQ(code_of("exp(x0)", float16, float64), "exp(x0)");
  EXPECT_EQ(code_of("exp(x0)", float8_e4m3), "exp(x0)");
  Step join;
  join.code = "exp(x0)";
  join.compute = float32;
  join.result = bfloat16;
  join.join = Join{};
  EXPECT_EQ(half_code(join), "exp(x0)") << "a sum of what errs in one direction";
}

}  // namespace
}  // namespace damo
