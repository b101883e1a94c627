#include "runtime/cuda/symbol_name.hpp"

#include <gtest/gtest.h>

namespace damo::cuda_backend {
namespace {

TEST(ReadSymbol, TellsAKernelsNameAndParameters) {
  EXPECT_EQ(read_symbol("_Z5scalePfi").name, "scale");
  EXPECT_EQ(read_symbol("_Z5scalePfi").parameters, "float*, int");
  EXPECT_EQ(read_symbol("_Z7nothingv").parameters, "");
  EXPECT_EQ(read_symbol("_Z5scaleIfLi4EEvPT_S0_").name, "scale<float, 4>");
  EXPECT_EQ(read_symbol("_Z5scaleIfLi4EEvPT_S0_").parameters, "float*, float");
  EXPECT_EQ(read_symbol("_ZN2ns5in_nsENS_1SEPKS0_").name, "ns::in_ns");
}

TEST(ReadSymbol, LeavesANameThatIsNotMangled) {
  EXPECT_EQ(read_symbol("twice").name, "twice");
  EXPECT_EQ(read_symbol("twice").parameters, std::nullopt);
  EXPECT_EQ(read_symbol("_Znonsense").name, "_Znonsense");
}

TEST(ReadSignature, TellsTheParametersOfAFunctionType) {
  EXPECT_EQ(read_signature("_Z14damo_signatureIFvPKfPficahPS2_EE"),
            "float const*, float*, int, char, signed char, unsigned char, float**");
  EXPECT_EQ(read_signature("_Z14damo_signatureIFvvEE"), "");
  EXPECT_EQ(read_signature("damo_signature"), std::nullopt);
}

}  // namespace
}  // namespace damo::cuda_backend
