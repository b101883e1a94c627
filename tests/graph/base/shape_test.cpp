#include <damo/shape.hpp>

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

Shape common(const std::vector<Shape>& shapes) { return broadcast_shapes(shapes); }

TEST(Shape, CountsNegativeAxesFromTheEnd) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape[-1], 4);
  EXPECT_EQ(shape[-3], 2);
  EXPECT_EQ(shape[1], 3);
}

TEST(Shape, GrowsAndShrinksAtAnyAxis) {
  Shape shape{2, 4};
  shape.insert(1, 3);
  EXPECT_EQ(shape, (Shape{2, 3, 4}));
  shape.insert(0, 1);
  shape.insert(4, 5);
  EXPECT_EQ(shape, (Shape{1, 2, 3, 4, 5}));
  shape.erase(4);
  shape.erase(0);
  shape.erase(1);
  EXPECT_EQ(shape, (Shape{2, 4}));
}

TEST(Shape, HoldsSixteenAxesAndRefusesMore) {
  Shape shape = Shape::filled(kMaxRank, 2);
  EXPECT_EQ(shape.rank(), 16);
  EXPECT_THAT(error_of<ShapeError>([&] { shape.push_back(2); }), HasSubstr("an array has at most 16 axes"));
  EXPECT_THAT(error_of<ShapeError>([] { Shape(std::vector<std::int64_t>(17, 1)); }), HasSubstr("an array has at most 16 axes"));
  EXPECT_EQ(shape, Shape::filled(16, 2)) << "the refused axis left nothing behind";
}

TEST(Shape, ComparesExtentsAndRank) {
  EXPECT_EQ(Shape(), Shape());
  EXPECT_NE((Shape{2}), (Shape{2, 1}));
  EXPECT_NE((Shape{2, 3}), (Shape{3, 2}));
  Shape shrunk{2, 7};
  shrunk.erase(1);
  EXPECT_EQ(shrunk, Shape{2}) << "what lies behind the last axis does not count";
}

TEST(Shape, HasAsManyElementsAsTheProductOfItsExtents) {
  EXPECT_EQ(Shape().size(), 1);
  EXPECT_EQ((Shape{2, 3, 4}).size(), 24);
  EXPECT_EQ((Shape{std::int64_t{1} << 31, std::int64_t{1} << 31}).size(), std::int64_t{1} << 62);
}

TEST(Shape, RefusesMoreThanTwoToThe63Elements) {
  const std::int64_t many = std::int64_t{1} << 32;
  EXPECT_THAT(error_of<ShapeError>([&] { (void)Shape{many, many}.size(); }), HasSubstr("shape (4294967296, 4294967296) has more than 2^63 elements"));
  EXPECT_EQ((Shape{many, many, 0}).size(), 0) << "nothing, however wide";
  EXPECT_EQ((Shape{0, many, many}).size(), 0);
}

TEST(Shape, KnowsWhetherEveryExtentIsKnown) {
  EXPECT_TRUE(Shape().is_known());
  EXPECT_TRUE((Shape{0, 5}).is_known());
  EXPECT_FALSE((Shape{3, kUnknown}).is_known());
}

TEST(Shape, PrintsAsATuple) {
  EXPECT_EQ(to_string(Shape()), "()");
  EXPECT_EQ(to_string(Shape{5}), "(5,)");
  EXPECT_EQ(to_string(Shape{3, kUnknown}), "(3, ?)");
}

TEST(Strides, OfCOrderLetTheLastAxisVaryFastest) {
  EXPECT_EQ(contiguous_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(contiguous_strides({2, 0, 4}), (Strides{4, 4, 1})) << "no stride is 0, though there is no element";
  EXPECT_EQ(contiguous_strides({}), Strides());
}

TEST(Strides, OfAxesThatNobodyStepsAlongDoNotMatter) {
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({3}, {-1}));
  EXPECT_TRUE(is_contiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(is_contiguous({5, 0}, {-9, 4}));
  EXPECT_TRUE(is_contiguous({0, 5}, {1, 7}));
}

TEST(BroadcastShapes, AlignsAtTheLastAxisAndStretchesOnes) {
  EXPECT_EQ(common({{3, 4}, {4}}), (Shape{3, 4}));
  EXPECT_EQ(common({{3, 1}, {1, 4}, {}}), (Shape{3, 4}));
  EXPECT_EQ(common({{5, 1, 1}, {3, 1}, {4}}), (Shape{5, 3, 4}));
  EXPECT_EQ(common({{1}, {0}}), Shape{0}) << "a 1 stretches to nothing too";
  EXPECT_EQ(common({}), Shape());
}

TEST(BroadcastShapes, TakesAKnownExtentForAnUnknownOne) {
  for (const std::vector<Shape>& shapes : {std::vector<Shape>{{kUnknown}, {4}}, {{4}, {kUnknown}}, {{1}, {kUnknown}, {4}}, {{kUnknown}, {4}, {1}}}) EXPECT_EQ(common(shapes), Shape{4});
  EXPECT_EQ(common({{kUnknown}, {1}}), Shape{kUnknown}) << "it may be more than 1";
  EXPECT_EQ(common({{1}, {kUnknown}}), Shape{kUnknown});
}

TEST(BroadcastShapes, NamesTheAxisThatDiffers) {
  EXPECT_THAT(error_of<ShapeError>([] { common({{3, 4}, {5}}); }), HasSubstr("cannot broadcast (3, 4) with (5,): last axis 4 against 5"));
  EXPECT_THAT(error_of<ShapeError>([] { common({{3, 4}, {1}, {2, 4}}); }), HasSubstr("cannot broadcast (3, 4), (1,) with (2, 4): axis -2 3 against 2"));
  EXPECT_THAT(error_of<ShapeError>([] { common({{0}, {4}}); }), HasSubstr("last axis 0 against 4"));
}

TEST(NormalizeAxis, CountsFromTheFront) {
  EXPECT_EQ(normalize_axis("sum", 1, 3), 1);
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_EQ(normalize_axis("sum", -3, 3), 0);
  EXPECT_THAT(error_of<ShapeError>([] { normalize_axis("sum", 3, 3); }), AllOf(StartsWith("sum: axis 3 does not exist: x has 3 axes"), HasSubstr("give an axis from -3 to 2")));
  EXPECT_THAT(error_of<ShapeError>([] { normalize_axis("sum", -4, 3); }), HasSubstr("sum: axis -4 does not exist"));
  EXPECT_THAT(error_of<ShapeError>([] { normalize_axis("sum", 0, 0); }), AllOf(StartsWith("sum: x has no axis"), HasSubstr("expand_dims(x, 0)")));
}

}  // namespace
}  // namespace damo
