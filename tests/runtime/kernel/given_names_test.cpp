#include "runtime/kernel/given_names.hpp"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(GivenNames, AreRefusedWhereTheyMeanSomethingElseInTheText) {
  for (const char* name : {"", "1x", "x.y", "two words", "x-y", "\xc3\xa9"}) EXPECT_EQ(why_no_name(name), "no name: letters, digits and _, and no digit first") << name;
  for (const char* name : {"float", "int", "class", "alignas", "xor_eq", "this", "not", "co_await"}) EXPECT_EQ(why_no_name(name), "a word of C++") << name;
  for (const char* name : {"__a", "a__b", "_A"}) EXPECT_THAT(why_no_name(name), ::testing::StartsWith("one of the compiler's names")) << name;
  for (const char* name : {"damo_value", "DAMO_FUNCTION"}) EXPECT_THAT(why_no_name(name), ::testing::StartsWith("one of Damo's names")) << name;
  EXPECT_EQ(why_no_name("threadIdx"), "a variable of CUDA C");
  for (const char* name : {"x", "_a", "_", "mean", "m2", "N", "T", "floats", "classes", "exp", "max", "half", "Joined"}) EXPECT_EQ(why_no_name(name), "") << name;
}

/// What the texts that stand before generated ones define, and leave defined.
std::set<std::string> macros_of_the_preludes() {
  std::set<std::string> macros, undefined;
  for (const char* folder : {"kernel/cuda_c", "kernel/prelude", "cuda/prelude", "cpu/clang/prelude"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(DAMO_SOURCE_DIR) / "src" / "runtime" / folder)) {
      std::ifstream file(entry.path());
      for (std::string line; std::getline(file, line);) {
        const bool defines = line.starts_with("#define "), forgets = line.starts_with("#undef ");
        const std::size_t begin = defines ? 8 : 7;
        if (defines || forgets) (defines ? macros : undefined).insert(line.substr(begin, line.find_first_of(" (", begin) - begin));
      }
    }
  }
  for (const std::string& name : undefined) macros.erase(name);
  return macros;
}

TEST(GivenNames, AreNoMacrosOfThePreludes) {
  const std::set<std::string> macros = macros_of_the_preludes();
  EXPECT_GT(macros.size(), 100u);
  for (const std::string& name : macros) EXPECT_NE(why_no_name(name), "") << name;
}

TEST(GivenNames, OfKernelsAreNoFunctionsOfCudaAndNoKeywords) {
  EXPECT_EQ(kernel_name("exp"), "damo_exp");
  EXPECT_EQ(kernel_name("float"), "damo_float");
  EXPECT_EQ(kernel_name("my kernel"), "damo_my_kernel");
  EXPECT_EQ(kernel_name(std::string(200, 'x')), "damo_" + std::string(80, 'x'));
}

}  // namespace
}  // namespace damo
