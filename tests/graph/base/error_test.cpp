// The text of errors.
#include <damo/error.hpp>

#include <gtest/gtest.h>

namespace damo {
namespace {

TEST(Error, ListsItsPartsLineByLine) {
  ShapeError error({.message = "does not fit", .operands = {"x (3,)", "y (4,)"}, .remedy = "reshape y"});
  EXPECT_STREQ(error.what(), "does not fit\n  x (3,), y (4,)\n  reshape y");
  error.add_where("at model.cpp:12");
  error.add_where("at outer.cpp:1");  // the innermost place counts
  EXPECT_STREQ(error.what(), "does not fit\n  x (3,), y (4,)\n  at model.cpp:12\n  reshape y");
}

}  // namespace
}  // namespace damo
