// What a CompileError shows of a source.
#include "graph/base/source_excerpt.hpp"

#include <gtest/gtest.h>

#include <damo/error.hpp>

namespace damo {
namespace {

const std::string kSource = "one\ntwo\nthree\nfour\nfive = bad;\nsix\nseven\neight\nnine\nten\neleven\ntwelve\nthirteen worse\nfourteen\n";

TEST(SourceExcerpt, ShowsThreeLinesBeforeAndBehindWithACaret) {
  EXPECT_EQ(source_excerpt("user.cu:5:8: error: use of undeclared identifier 'bad'\n    5 | five = bad;\n      |        ^\n", kSource),
            "      2 | two\n      3 | three\n      4 | four\n>     5 | five = bad;\n        |        ^\n"
            "      6 | six\n      7 | seven\n      8 | eight\n");
}

TEST(SourceExcerpt, ReadsTheMessagesOfNvrtc) {
  EXPECT_EQ(source_excerpt("user.cu(1): error: identifier \"one\" is undefined\n  one\n  ^\n\n1 error detected\n", kSource),
            ">     1 | one\n      2 | two\n      3 | three\n      4 | four\n");
}

TEST(SourceExcerpt, JoinsLinesThatAreNearAndLeavesOutWhatIsBetweenOthers) {
  EXPECT_EQ(source_excerpt("u:1:1: error: a\n    1 | one\nu:2:1: fatal error: b\n    2 | two\nu:13:1: error: c\n   13 | thirteen worse\n", kSource),
            ">     1 | one\n        | ^\n>     2 | two\n        | ^\n      3 | three\n      4 | four\n      5 | five = bad;\n    ...\n"
            "     10 | ten\n     11 | eleven\n     12 | twelve\n>    13 | thirteen worse\n        | ^\n     14 | fourteen\n");
}

TEST(SourceExcerpt, CountsAsLineDirectivesSay) {
  EXPECT_EQ(source_excerpt("model.cpp:42:1: error: what\n   42 | second\n", "head\n#line 41 \"model.cpp\"\nfirst\nsecond\n"),
            "      1 | head\n      2 | #line 41 \"model.cpp\"\n     41 | first\n>    42 | second\n        | ^\n");
}

TEST(SourceExcerpt, IsNotMisledByErrorsInOtherFiles) {
  EXPECT_EQ(source_excerpt("In file included from user.cu:1:\nlib.h:5:3: error: no\n    5 | something else\n", kSource), "");
  EXPECT_EQ(source_excerpt("error: function 'f' is called but has no definition\n", kSource), "");
  EXPECT_EQ(source_excerpt("user.cu:99:1: error: behind the end\n", kSource), "");
  EXPECT_EQ(source_excerpt("", ""), "");
}

TEST(CompileError, OfALongSourceShowsTheLinesAroundTheErrorOnly) {
  std::string source;
  for (int i = 1; i <= 1000; ++i) source += "line " + std::to_string(i) + "\n";
  const CompileError error("user.cu does not compile", "user.cu:500:1: error: wrong\n  500 | line 500\n", source);
  EXPECT_STREQ(error.what(), "user.cu does not compile\nuser.cu:500:1: error: wrong\n  500 | line 500\n"
                             "    497 | line 497\n    498 | line 498\n    499 | line 499\n>   500 | line 500\n        | ^\n"
                             "    501 | line 501\n    502 | line 502\n    503 | line 503\n");
  EXPECT_EQ(error.source(), source);
}

TEST(CompileError, CountsTheErrorsThatItLeavesOut) {
  std::string log;
  for (int i = 1; i <= 30; ++i) log += "u:" + std::to_string(i) + ":1: error: wrong\n";
  const std::string text = CompileError("no", log, "").what();
  EXPECT_NE(text.find("u:20:1: error: wrong\nand 10 errors more, in CompileError::log()\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("u:21:1"), std::string::npos);
}

}  // namespace
}  // namespace damo
