// What a compiler's log says, read back.
#include "graph/base/compiler_log.hpp"

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(CompilerLog, OfClangGivesPlaceMessageAndTheShownLine) {
  const auto errors = errors_in("In file included from user.cu:1:\n/a/b.h:3:7: fatal error: 'x.h' file not found\n    3 | #include <x.h>\n      |          ^\n"
                                "user.cu:12:1: warning: not an error: 3\nuser.cu:13:2: error: second\n");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].file, "/a/b.h");
  EXPECT_EQ(errors[0].line, 3);
  EXPECT_EQ(errors[0].column, 7);
  EXPECT_EQ(errors[0].message, "'x.h' file not found");
  EXPECT_EQ(errors[0].shown, "#include <x.h>");
  EXPECT_EQ(errors[1].file, "user.cu");
  EXPECT_EQ(errors[1].message, "second");
  EXPECT_EQ(errors[1].shown, "");
}

TEST(CompilerLog, OfNvrtcGivesPlaceMessageAndTheShownLine) {
  const auto errors = errors_in("user.cu(3): catastrophic error: cannot open source file \"x.h\"\n  #include \"x.h\"\n               ^\n\n1 catastrophic error detected\n"
                                "user.cu(4): error #20: second\n");
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_EQ(errors[0].line, 3);
  EXPECT_EQ(errors[0].column, 0);
  EXPECT_EQ(errors[0].message, "cannot open source file \"x.h\"");
  EXPECT_EQ(errors[0].shown, "  #include \"x.h\"");
  EXPECT_EQ(errors[1].message, "second");
}

TEST(CompilerLog, WithoutPlacesHasNoErrorsToRead) {
  EXPECT_TRUE(errors_in("error: function 'f' is called but has no definition\nuser.cu: error: no kernel\n").empty());
  EXPECT_TRUE(errors_in("").empty());
  EXPECT_TRUE(errors_in("a:1\na(1)\n:1:1:\n(1): \n").empty());
}

}  // namespace
}  // namespace damo
