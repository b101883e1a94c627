#include "runtime/library/dynamic_library.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

constexpr const char* kMathLibrary = "libm.so.6";

TEST(DynamicLibrary, FindsFunctionsByTheirNames) {
  DynamicLibrary library(kMathLibrary);
  double (*cube_root)(double) = nullptr;
  library.find("cbrt", cube_root);
  EXPECT_EQ(library.problem(), "");
  ASSERT_NE(cube_root, nullptr);
  EXPECT_DOUBLE_EQ(cube_root(27.0), 3.0);
}

TEST(DynamicLibrary, NamesItselfAndTheFirstFunctionThatIsMissing) {
  DynamicLibrary library(kMathLibrary);
  double (*found)(double) = nullptr;
  void (*first)() = nullptr;
  void (*second)() = nullptr;
  library.find("damo_no_such_function", first);
  library.find("damo_nor_this_one", second);
  library.find("cbrt", found);
  EXPECT_EQ(library.problem(), "libm.so.6 has no damo_no_such_function");
  EXPECT_EQ(library.missing(), "damo_no_such_function");
  EXPECT_EQ(first, nullptr);
  EXPECT_NE(found, nullptr);
}

TEST(DynamicLibrary, TakesNoOffenceAtAnOptionalFunctionThatIsMissing) {
  DynamicLibrary library(kMathLibrary);
  void (*function)() = nullptr;
  EXPECT_FALSE(library.find_optional("damo_no_such_function", function));
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(library.problem(), "");
}

TEST(DynamicLibrary, SaysOnceWhyItCannotBeOpened) {
  DynamicLibrary library("libdamo_no_such_library.so");
  EXPECT_FALSE(library.is_open());
  const std::string why = "libdamo_no_such_library.so cannot be opened: cannot open shared object file: No such file or directory";
  EXPECT_EQ(library.problem(), why);
  void (*function)() = nullptr;
  library.find("f", function);
  EXPECT_EQ(function, nullptr);
  EXPECT_EQ(library.problem(), why);
}

}  // namespace
}  // namespace damo
