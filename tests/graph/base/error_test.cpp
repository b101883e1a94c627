// The text of errors.
#include <damo/error.hpp>

#include <gmock/gmock.h>

namespace damo {
namespace {

using ::testing::HasSubstr;

TEST(Error, ListsItsPartsLineByLine) {
  ShapeError error({.message = "does not fit", .operands = {"x (3,)", "y (4,)"}, .remedy = "reshape y"});
  EXPECT_STREQ(error.what(), "does not fit\n  x (3,), y (4,)\n  reshape y");
  error.add_where("at model.cpp:12");
  error.add_where("at outer.cpp:1");  // the innermost place counts
  EXPECT_STREQ(error.what(), "does not fit\n  x (3,), y (4,)\n  at model.cpp:12\n  reshape y");
}

TEST(CompileError, NumbersTheSourceFromOne) {
  EXPECT_THAT(CompileError("fails", "log", "a\nb").what(), HasSubstr("fails\nlog\n   1 | a\n   2 | b\n"));
}

TEST(CompileError, NumbersTheSourceAsLineDirectivesSay) {
  const CompileError error("fails", "log", "head\n#line 41 \"model.cpp\"\nfirst\nsecond\n#line 1 \"generated\"\ntail\n");
  EXPECT_THAT(error.what(), HasSubstr("   1 | head\n   2 | #line 41 \"model.cpp\"\n  41 | first\n  42 | second\n"));
  EXPECT_THAT(error.what(), HasSubstr("\n   1 | tail\n"));
}

}  // namespace
}  // namespace damo
