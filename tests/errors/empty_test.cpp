// What there is no element to choose from, of extents that are known when the graph is built: max, min and their kin of nothing.
#include <cmath>

#include <damo/damo.hpp>

#include <gmock/gmock.h>

#include "support/compiler_line.hpp"
#include "support/errors.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(EmptyError, NamesTheLineWhereAChoiceOfNoElementIsBuilt) {
  const Variable x = input({float32, {0, 3}}, "x");
  const int line = __LINE__ + 1;
  const std::string text = error_of([&] { max(x, 0); });
  EXPECT_THAT(text, StartsWith("max: there is no element to choose in an array of shape (0, 3)\n  x float32 (0, 3)\n  max built at "));
  EXPECT_THAT(text, damo::testing::names_line("empty_test.cpp", line));
  EXPECT_THAT(text, HasSubstr("\n  give it elements, or leave it out for empty arrays"));
  EXPECT_THAT(error_of([&] { min(x, 0); }), StartsWith("min: there is no element to choose"));
  EXPECT_THAT(error_of([&] { argmax(x, 0); }), StartsWith("argmax: there is no element to choose"));
  EXPECT_THAT(error_of([&] { argmin(x, 0); }), StartsWith("argmin: there is no element to choose"));
  EXPECT_THAT(error_of([&] { max_and_argmax(x, 0); }), StartsWith("max_and_argmax: there is no element to choose"));
  EXPECT_THAT(error_of([&] { ptp(x, 0); }), StartsWith("ptp: there is no element to choose"));
  EXPECT_THAT(error_of([&] { softmax(x, 0); }), StartsWith("softmax: there is no element to choose in an array of shape (0, 3)\n  x float32 (0, 3)\n"));
  EXPECT_THAT(error_of([&] { norm(x, 0, {.ord = INFINITY}); }), StartsWith("norm: there is no element to choose"));
  EXPECT_THAT(error_of([&] { max(x); }), StartsWith("max: there is no element to choose"));
  EXPECT_THAT(error_of([&] { median(x, 0); }), StartsWith("median: axis 0 of x has no elements"));
}

TEST(EmptyError, WaitsForTheCallWhereTheResultMayBeEmptyToo) {
  const Variable x = input({float32, {kUnknown, 0}}, "x"), none = input({float32, {0, 3}}, "none");
  EXPECT_THAT(error_of([&] { max(x); }), AllOf(HasSubstr("in an array of shape (?, 0)"), HasSubstr("max built at "))) << "one value of none";
  const Variable rows = max(x, 1), columns = max(none, 1);  // of no rows there is no value
  EXPECT_EQ(rows.dims(), Shape{kUnknown});
  EXPECT_EQ(columns.dims(), Shape{0});
  EXPECT_EQ(mean(none, 0).dims(), Shape{3}) << "NaN, as in NumPy";
  EXPECT_EQ(sum(none, 0).dims(), Shape{3});
}

TEST(EmptyError, NamesAWindowThatIsLargerThanItsPictures) {
  const Variable x = input({float32, {1, 1, 0, 4}}, "x");
  EXPECT_THAT(error_of([&] { max_pool2d(x, {2, 2}); }), AllOf(StartsWith("max_pool2d: a window that reaches over 2 elements does not fit into axis 2, which has 0"), HasSubstr("max_pool built at ")));
}

TEST(EmptyError, OfArraysIsTheSameText) {
  const Array x = Array::zeros({0, 3}, float32, Device("null"));
  EXPECT_THAT(error_of([&] { max(x, 0); }), StartsWith("max: there is no element to choose in an array of shape (0, 3)"));
  EXPECT_THAT(error_of([&] { argmin(x); }), StartsWith("argmin: there is no element to choose in an array of shape (0, 3)"));
  EXPECT_THAT(error_of([&] { ptp(x, 0); }), HasSubstr("there is no element to choose in an array of shape (0, 3)"));
}

}  // namespace
}  // namespace damo
