// NVIDIA's assembler takes the result of neg.s16 and abs.s16 for a number that fits: -(-32768) > 0 is true then. Before CUDA 13.4 it also takes
// max.s16(x, y) == x for true whatever they are (min, u16 alike). No row may come to these instructions. And a float that can't be negative
// counts as a number, NaN or not, where it is ordered. Compiled here, loaded nowhere; values: tests/function/rows_table_test.cpp.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::ContainsRegex;
using ::testing::Not;

std::string ptx(const std::string& source) {
  const CompiledCode compiled = NvrtcCompiler(90).compile({source, SourceKind::kGenerated, "k.cu", {"k"}, {"--gpu-architecture=compute_90"}});
  const std::vector<std::byte> code = unpack(compiled.bytes).code;
  return {reinterpret_cast<const char*>(code.data()), code.size()};
}

/// PTX of y = value > 0 ? value : 7, where value is an expression of the int16 x.
std::string ptx_of(const std::string& value) {
  return ptx("extern \"C\" __global__ void k(const i16* in, f32* y) {\n  const i16 x = in[threadIdx.x], minus_one = -1;\n  const i16 value = " + value +
             ";\n  y[threadIdx.x] = value > i16(0) ? f32(value) : 7.0f;\n}\n");
}

/// PTX of value and value == x for each value, an expression of the integers x and y.
std::string ptx_of_comparisons(const std::string& type, const std::vector<std::string>& values) {
  std::string source = "extern \"C\" __global__ void k(const " + type + "* in, " + type + "* values, bool* out) {\n  typedef " + type + " T;\n  const T x = in[threadIdx.x], y = in[threadIdx.x + 32];\n";
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string n = std::to_string(i);
    source += "  const T v" + n + " = " + values[i] + ";\n  values[32 * " + n + " + threadIdx.x] = v" + n + ";\n  out[32 * " + n + " + threadIdx.x] = v" + n + " == x;\n";
  }
  return ptx(source + "}\n");
}

TEST(LeastInt16Nvrtc, IsNegatedInNoInstructionOfSixteenBits) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const char* const kNegated = "(neg|abs)[.]s16";
  EXPECT_THAT(ptx_of("x < 0 ? i16(-x) : x"), ContainsRegex(kNegated)) << "what the prelude's functions must not become";
  for (const char* const value : {"wrap_neg(x)", "wrap_abs(x)", "wrap_sub(i16(0), x)", "wrap_mul(x, minus_one)", "floor_div(x, minus_one)",
                                  "x < i16(0) ? wrap_neg(x) : x", "maximum(x, wrap_neg(x))", "wrap_add(i16(~x), i16(1))"}) {
    EXPECT_THAT(ptx_of(value), Not(ContainsRegex(kNegated))) << value;
  }
}

TEST(SmallIntegersNvrtc, AreComparedInNoInstructionOfSixteenBits) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const char* const kGreater = "(max|min)[.][su]16";
  for (const char* const type : {"i8", "u8", "i16", "u16"}) {
    EXPECT_THAT(ptx_of_comparisons(type, {"x > y ? x : y"}), ContainsRegex(kGreater)) << "what the prelude's functions must not become";
    EXPECT_THAT(ptx_of_comparisons(type, {"maximum(x, y)", "minimum(x, y)", "maximum(x, T(0))", "minimum(maximum(x, T(3)), y)", "choose(x > y, x, y)", "choose(x < y, x, y)",
                                          "choose(y >= x, y, x)"}),
                Not(ContainsRegex(kGreater)))
        << type;
  }
}

TEST(FloatsNvrtc, AreOrderedAfterAnAdditionOfWhichTheAssemblerKnowsNoSign) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const auto text = [](const std::string& value) {
    return "extern \"C\" __global__ void k(const f32* in, bool* y) { y[threadIdx.x] = " + value + " >= 0.0f; }\n";
  };
  const char* const kAdded = "add[.]rn[.]f32";
  EXPECT_THAT(ptx(text("fabsf(in[threadIdx.x])")), Not(ContainsRegex(kAdded)));
  EXPECT_THAT(ptx(text("math::of_any_sign(fabsf(in[threadIdx.x]))")), ContainsRegex(kAdded));
}

}  // namespace
}  // namespace damo::cuda_backend
