#include "runtime/kernel/layout.hpp"

#include <gmock/gmock.h>

namespace damo {
namespace {

struct Operand {
  Shape shape;
  Strides strides;
  Operand(const Shape& s) : shape(s), strides(contiguous_strides(s)) {}
  Operand(const Shape& s, const Strides& t) : shape(s), strides(t) {}
};

Geometry geometry_of(const Shape& space, const std::vector<Operand>& operands) {
  std::vector<ArrayLayout> arrays;
  for (const Operand& operand : operands) arrays.push_back({&operand.shape, &operand.strides});
  return Geometry(space, arrays);
}

/// Of inputs and one dense output of the space's shape.
std::string text_of(const Shape& space, std::vector<Operand> inputs) {
  inputs.emplace_back(space);
  return to_string(classify(geometry_of(space, inputs), static_cast<int>(inputs.size()) - 1));
}

TEST(Geometry, CollapsesAxesThatEveryArrayWalksAlike) {
  const Geometry dense = geometry_of({2, 3, 4}, {{{2, 3, 4}}, {{2, 3, 4}}});
  EXPECT_EQ(dense.extents, (Shape{24}));
  EXPECT_EQ(dense.strides[0], (Strides{1}));
  const Geometry row = geometry_of({2, 3, 4}, {{{4}}, {{2, 3, 4}}});
  EXPECT_EQ(row.extents, (Shape{6, 4}));
  EXPECT_EQ(row.strides[0], (Strides{0, 1}));
  EXPECT_EQ(row.strides[1], (Strides{4, 1}));
  const Geometry column = geometry_of({2, 3, 4}, {{{2, 1, 1}}, {{2, 3, 4}}});
  EXPECT_EQ(column.extents, (Shape{2, 12}));
  EXPECT_EQ(column.strides[0], (Strides{1, 0}));
}

TEST(Geometry, DropsAxesOfExtentOne) {
  const Geometry geometry = geometry_of({1, 3, 1, 4}, {{{1, 3, 1, 4}, {99, 4, -7, 1}}});
  EXPECT_EQ(geometry.extents, (Shape{12}));
  EXPECT_EQ(geometry.strides[0], (Strides{1}));
}

TEST(Geometry, HasAnAxisEvenForOneElement) {
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{1, 1}}) {
    const Geometry geometry = geometry_of(shape, {{shape}});
    EXPECT_EQ(geometry.extents, (Shape{1}));
    EXPECT_EQ(geometry.count, 1);
  }
}

TEST(Geometry, KeepsAxesThatOneArrayWalksOtherwise) {
  const Geometry geometry = geometry_of({3, 4}, {{{3, 4}}, {{3, 4}, {1, 3}}});
  EXPECT_EQ(geometry.extents, (Shape{3, 4}));
  EXPECT_EQ(geometry.strides[1], (Strides{1, 3}));
}

TEST(Geometry, CountsNothingForZeroElements) { EXPECT_EQ(geometry_of({3, 0, 4}, {{{3, 0, 4}}}).count, 0); }

TEST(Classify, NamesHowEachArrayLies) {
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}}}), "r1 dense dense");
  EXPECT_EQ(text_of({5, 7}, {{Shape{}}}), "r1 scalar dense");
  EXPECT_EQ(text_of({5, 7}, {{{1, 1}}}), "r1 scalar dense");
  EXPECT_EQ(text_of({5, 7}, {{{7}}}), "r2 row dense");
  EXPECT_EQ(text_of({5, 7}, {{{5, 1}}}), "r2 repeat dense");
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}, {8, 1}}}), "r2 row dense") << "rows apart";
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}, {14, 2}}}), "r1 strided dense");
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}, {7, -1}}}), "r2 strided dense") << "each row backwards";
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}, {-7, -1}}}), "r1 strided dense") << "all backwards";
  EXPECT_EQ(text_of({5, 7}, {{{5, 7}, {1, 5}}}), "r2 strided dense") << "too small for a tile";
  EXPECT_EQ(text_of({50, 70}, {{{50, 70}, {1, 50}}}), "r2 tile0 transposed dense");
  EXPECT_EQ(text_of({3, 50, 70}, {{{3, 50, 70}, {3500, 1, 50}}}), "r3 tile1 transposed dense");
  EXPECT_EQ(text_of({1}, {{{1}}}), "r1 dense dense");
}

TEST(Classify, TilesAxesOfFewPlacesForATargetThatGainsByIt) {
  const auto text = [](const Shape& space, const Strides& strides) { return to_string(classify(geometry_of(space, {{space, strides}, {space}}), 1, 2)); };
  EXPECT_EQ(text({2, 3, 5000}, {15000, 1, 3}), "r3 tile1 of 4 transposed dense") << "colours become planes";
  EXPECT_EQ(text({2, 5000, 3}, {15000, 1, 5000}), "r3 tile1 last of 4 transposed dense") << "planes become colours";
  EXPECT_EQ(text({128, 8}, {1, 128}), "r2 tile0 last of 8 transposed dense");
  EXPECT_EQ(text({127, 8}, {1, 127}), "r2 strided dense") << "half of a tile would be empty";
  EXPECT_EQ(text({1000, 9}, {1, 1000}), "r2 tile0 last of 16 transposed dense");
  EXPECT_EQ(text_of({2, 3, 5000}, {{{2, 3, 5000}, {15000, 1, 3}}}), "r3 strided dense") << "another target";
}

TEST(Classify, TilesAlongOneAxisOnly) {
  EXPECT_EQ(text_of({20, 30, 40}, {{{20, 30, 40}, {1, 800, 20}}, {{20, 30, 40}, {1200, 1, 30}}}),
            "r3 tile0 transposed strided dense");
}

TEST(Classify, GoesWideFromTwoToThe31) {
  const std::int64_t limit = std::int64_t{1} << 31;
  EXPECT_EQ(text_of({limit - 1}, {{{limit - 1}}}), "r1 dense dense");
  EXPECT_EQ(text_of({limit}, {{{limit}}}), "r1 wide dense dense");
  EXPECT_EQ(text_of({3}, {{{3}, {(limit - 1) / 2}}}), "r1 strided dense") << "the last offset is 2^31 - 2";
  EXPECT_EQ(text_of({3}, {{{3}, {limit / 2}}}), "r1 wide strided dense");
  EXPECT_EQ(text_of({3}, {{{3}, {-limit / 2}}}), "r1 wide strided dense");
  EXPECT_EQ(text_of({1 << 20, 1 << 12}, {{{1 << 20, 1 << 12}, {0, 0}}}), "r1 wide scalar dense");
}

/// Of sums over the last axis: the access of each array that is read.
std::vector<Access> shared_by_rows(const Shape& space, const std::vector<Operand>& inputs) {
  std::vector<ArrayLayout> arrays;
  for (const Operand& operand : inputs) arrays.push_back({&operand.shape, &operand.strides});
  const Geometry geometry(space, arrays, std::uint32_t{1} << (space.rank() - 1));
  Layout rows = classify_reducing(geometry);
  mark_every_row(rows, geometry, static_cast<int>(inputs.size()));
  return rows.access;
}

TEST(MarkEveryRow, NamesWhatAllOfSeveralRowsShare) {
  using enum Access;
  EXPECT_EQ(shared_by_rows({5, 8}, {{{5, 8}}, {{8}}, {{5, 1}}}), (std::vector<Access>{kRow, kEveryRow, kRepeat}));
  EXPECT_EQ(shared_by_rows({3, 5, 8}, {{{3, 5, 8}}, {{3, 1, 8}}, {{8}}}), (std::vector<Access>{kRow, kRow, kEveryRow})) << "the second is shared by the rows of a batch alone";
  EXPECT_EQ(shared_by_rows({1, 8}, {{{1, 8}}, {{8}}}), (std::vector<Access>{kRow, kRow})) << "one row has nobody to share with";
}

TEST(MarkSteady, NamesWhatRepeatsAlongTheInnermostAxis) {
  using enum Access;
  const auto marked = [](const Shape& space, std::uint32_t reduced, const std::vector<Operand>& inputs) {
    std::vector<ArrayLayout> arrays;
    for (const Operand& operand : inputs) arrays.push_back({&operand.shape, &operand.strides});
    const Geometry geometry(space, arrays, reduced);
    Layout layout = classify_reducing(geometry);
    mark_steady(layout, geometry, static_cast<int>(inputs.size()));
    return layout.access;
  };
  EXPECT_EQ(marked({3, 5, 8}, 6, {{{3, 5, 8}}, {{5, 1}}, {{3, 1, 1}}, {{3, 5, 8}, {80, 16, 2}}}), (std::vector<Access>{kRow, kSteady, kRepeat, kStrided})) << "of rows the last reduced axis";
  EXPECT_EQ(marked({5, 8}, 1, {{{5, 8}}, {{5, 1}}, {{8}}, {{5, 8}, {16, 2}}}), (std::vector<Access>{kRow, kSteady, kRepeat, kStrided})) << "of columns the last one that is kept";
}

TEST(MarkUnbroken, NamesRowsOfSeveralAxesThatAreOneStretch) {
  const auto marked = [](const Shape& space, std::uint32_t reduced, const std::vector<Operand>& inputs) {
    std::vector<ArrayLayout> arrays;
    for (const Operand& operand : inputs) arrays.push_back({&operand.shape, &operand.strides});
    const Geometry geometry(space, arrays, reduced);
    Layout layout = classify_reducing(geometry);
    mark_every_row(layout, geometry, static_cast<int>(inputs.size()));
    mark_unbroken(layout, geometry);
    return layout.unbroken;
  };
  EXPECT_EQ(marked({3, 5, 8}, 6, {{{3, 5, 8}}, {{5, 1}}, {{5, 8}}, {{3, 5, 8}, {80, 16, 1}}}), (std::vector<int>{0, 2})) << "not what stays where it is, nor what has gaps";
  EXPECT_EQ(marked({3, 2, 5, 8}, 14, {{{3, 2, 5, 8}}, {{2, 5, 1}}, {{3, 2, 5, 8}, {80, 1000, 8, 1}}}), (std::vector<int>{0})) << "nor what is one stretch along some of the axes alone";
  EXPECT_EQ(marked({3, 5, 8}, 6, {{{3, 5, 8}}, {{3, 5, 8}}}), std::vector<int>{}) << "one axis, collapsed";
  EXPECT_EQ(marked({3, 5, 8}, 3, {{{3, 5, 8}}, {{3, 5, 1}}}), std::vector<int>{}) << "columns";
}

Layout layout(int rank, std::vector<Access> access) { return {.rank = rank, .access = std::move(access)}; }

TEST(Serves, LetsMoreGeneralCodeRunSimplerData) {
  using enum Access;
  const Layout row = layout(2, {kRow, kDense}), dense = layout(1, {kDense, kDense}), strided = layout(2, {kStrided, kDense});
  EXPECT_TRUE(serves(row, row, 1 << 30));
  EXPECT_TRUE(serves(row, dense, 1 << 30));
  EXPECT_FALSE(serves(dense, row, 100));
  EXPECT_TRUE(serves(layout(2, {kRepeat, kDense}), layout(1, {kScalar, kDense}), 1 << 30));
  EXPECT_TRUE(serves(strided, row, 100)) << "small: cheaper than a compile";
  EXPECT_FALSE(serves(strided, row, 1 << 20));
  EXPECT_TRUE(serves(dense, layout(1, {kScalar, kDense}), 1)) << "one element is element 0 of everything";
}

TEST(Serves, NeverPromisesThatArraysAreApartWhereTheyAreNot) {
  using enum Access;
  Layout apart = layout(1, {kDense, kDense}), in_place = apart;
  in_place.in_place = true;
  EXPECT_FALSE(serves(apart, in_place, 1));
  EXPECT_TRUE(serves(in_place, in_place, 1 << 20));
  EXPECT_TRUE(serves(in_place, apart, 100)) << "small: cheaper than a compile";
  EXPECT_FALSE(serves(in_place, apart, 1 << 20));
}

TEST(Serves, MindsRankAndWidthAndTiles) {
  using enum Access;
  Layout wide = layout(1, {kDense, kDense}), narrow = wide, tiled = layout(2, {kTransposed, kDense});
  wide.wide = true;
  tiled.tile_axis = 0;
  EXPECT_TRUE(serves(wide, narrow, 10));
  EXPECT_FALSE(serves(narrow, wide, 10));
  EXPECT_FALSE(serves(layout(1, {kStrided, kDense}), layout(2, {kStrided, kDense}), 10));
  EXPECT_TRUE(serves(tiled, tiled, 10));
  EXPECT_FALSE(serves(tiled, layout(2, {kDense, kDense}), 10));
  EXPECT_FALSE(serves(layout(2, {kStrided, kDense}), tiled, 10));
}

TEST(Geometry, GainsLeadingAxesForCodeOfAHigherRank) {
  const Geometry geometry = with_rank(geometry_of({6}, {{{6}}, {{6}, {2}}}), 3);
  EXPECT_EQ(geometry.extents, (Shape{1, 1, 6}));
  EXPECT_EQ(geometry.strides[1], (Strides{0, 0, 2}));
  EXPECT_EQ(geometry.count, 6);
}

}  // namespace
}  // namespace damo
