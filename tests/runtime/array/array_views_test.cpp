// Expected values: NumPy and Python's own slices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>

#include <damo/array.hpp>

#include "support/host_backend.hpp"

namespace damo {
namespace {

using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using testing::HostBackend;
using ::testing::IsEmpty;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();

struct ArrayViews : ::testing::Test {
  Array counted(const Shape& shape) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(shape.size()));
    std::iota(values.begin(), values.end(), 0);
    return Array::from(values, shape, Device(&backend));
  }
  std::vector<std::int64_t> sliced(std::int64_t size, const Slice& slice) {
    return counted({size}).slice({slice}).to_vector<std::int64_t>();
  }
  HostBackend backend;
};

TEST_F(ArrayViews, TransposesWithoutACopy) {
  const Array a = counted({2, 3}), b = a.transpose();
  EXPECT_EQ(b.shape(), (Shape{3, 2}));
  EXPECT_EQ(b.strides(), (Strides{1, 3}));
  EXPECT_EQ(b.data(), a.data());
  EXPECT_TRUE(a.shares_buffer_with(b));
  EXPECT_THAT(b.to_vector<std::int64_t>(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_EQ(counted({}).transpose().rank(), 0);
}

TEST_F(ArrayViews, PermutesAxes) {
  const int axes[] = {2, 0, -2};
  const Array a = counted({2, 3, 4}).permute(axes);
  EXPECT_EQ(a.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(a.strides(), (Strides{1, 12, 4}));
}

TEST_F(ArrayViews, RefusesWhatIsNoPermutation) {
  const Array a = counted({2, 3});
  const int few[] = {0}, twice[] = {1, -1}, beyond[] = {0, 2};
  EXPECT_THAT(error_of<ShapeError>([&] { a.permute(few); }),
              HasSubstr("permute: (0) does not order the axes of (2, 3): 1 axis given, the array has 2"));
  EXPECT_THAT(error_of<ShapeError>([&] { a.permute(twice); }), HasSubstr("axis 1 appears twice"));
  EXPECT_THAT(error_of<ShapeError>([&] { a.permute(beyond); }), HasSubstr("there is no axis 2"));
}

TEST_F(ArrayViews, SlicesAsPythonDoes) {
  EXPECT_THAT(sliced(5, {1, 4}), ElementsAre(1, 2, 3));
  EXPECT_THAT(sliced(5, {{}, {}, 2}), ElementsAre(0, 2, 4));
  EXPECT_THAT(sliced(5, {1, {}, 3}), ElementsAre(1, 4));
  EXPECT_THAT(sliced(5, {-3, -1}), ElementsAre(2, 3));
  EXPECT_THAT(sliced(5, {{}, {}, -1}), ElementsAre(4, 3, 2, 1, 0));
  EXPECT_THAT(sliced(5, {-2, 0, -2}), ElementsAre(3, 1));
  EXPECT_THAT(sliced(5, {0, {}, -1}), ElementsAre(0));
  EXPECT_THAT(sliced(5, {3, 1}), IsEmpty());
  EXPECT_THAT(sliced(0, {{}, {}, -1}), IsEmpty());
}

TEST_F(ArrayViews, ClampsSlicesOutOfRange) {
  EXPECT_THAT(sliced(3, {1, 100}), ElementsAre(1, 2));
  EXPECT_THAT(sliced(3, {-100, 2}), ElementsAre(0, 1));
  EXPECT_THAT(sliced(3, {100, {}, -1}), ElementsAre(2, 1, 0));
  EXPECT_THAT(sliced(3, {2, -100, -1}), ElementsAre(2, 1, 0));
  EXPECT_THAT(sliced(3, {7, 9}), IsEmpty());
  EXPECT_THAT(sliced(3, {kLeast, kMost, kMost}), ElementsAre(0));
  EXPECT_THAT(sliced(3, {kMost, kLeast, kLeast}), ElementsAre(2));
}

TEST_F(ArrayViews, SlicesSeveralAxesAndKeepsTheRest) {
  const Array a = counted({3, 4, 2}).slice({{1, 3}, {{}, {}, -2}});
  EXPECT_EQ(a.shape(), (Shape{2, 2, 2}));
  EXPECT_EQ(a.strides(), (Strides{8, -4, 1}));
  EXPECT_THAT(a.to_vector<std::int64_t>(), ElementsAre(14, 15, 10, 11, 22, 23, 18, 19));
  const Array again = a.slice({{{}, {}, -1}, {1, 2}, {1, 2}});
  EXPECT_THAT(again.to_vector<std::int64_t>(), ElementsAre(19, 11));
}

TEST_F(ArrayViews, RefusesSlicesThatMakeNoSense) {
  EXPECT_THAT(error_of<ShapeError>([&] { counted({3}).slice({{0, 2, 0}}); }), HasSubstr("the step of axis 0 is 0"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                counted({3}).slice({{}, {}});
              }),
              HasSubstr("2 slices given, (3,) has 1 axis"));
}

TEST_F(ArrayViews, BroadcastsWithStridesOfZero) {
  const Array a = counted({3, 1}).broadcast_to({2, 3, 4});
  EXPECT_EQ(a.strides(), (Strides{0, 1, 0}));
  EXPECT_EQ(a.size(), 24);
  EXPECT_EQ(a.slice({{1, 2}, {2, 3}}).to_vector<std::int64_t>(), std::vector<std::int64_t>(4, 2));
  EXPECT_EQ(counted({}).broadcast_to({2}).to_vector<std::int64_t>(), std::vector<std::int64_t>(2, 0));
  EXPECT_EQ(counted({1}).broadcast_to({0}).size(), 0);
  EXPECT_EQ(counted({3, 1}).broadcast_to({2, -1, 4}).shape(), (Shape{2, 3, 4}));
}

TEST_F(ArrayViews, CountsMoreElementsThan32BitsHold) {
  const Array a = counted({1}).broadcast_to({std::int64_t{1} << 20, std::int64_t{1} << 20});
  EXPECT_EQ(a.size(), std::int64_t{1} << 40);
  EXPECT_EQ(a.slice({{-1, {}}, {-1, {}}}).item().as_int(), 0);
}

TEST_F(ArrayViews, LeavesTheOwnersUnchangedWhenASizePasses64Bits) {
  const Array a = counted({1});
  EXPECT_THROW(a.broadcast_to({kMost, 4}), ShapeError);
  EXPECT_TRUE(a.is_unique());
}

TEST_F(ArrayViews, RefusesImpossibleBroadcasts) {
  EXPECT_THAT(error_of<ShapeError>([&] {
                counted({3, 4}).broadcast_to({3, 5});
              }),
              HasSubstr("broadcast_to: (3, 4) cannot become (3, 5): axis 1 has 5 against 4\n  only an extent of 1 stretches"));
  EXPECT_THAT(error_of<ShapeError>([&] { counted({3, 4}).broadcast_to({4}); }), HasSubstr("it has more axes"));
  EXPECT_THAT(error_of<ShapeError>([&] { counted({1}).broadcast_to({-1, 1}); }), HasSubstr("the extent of axis 0 is -1"));
}

TEST_F(ArrayViews, ReshapesContiguousElementsWithoutACopy) {
  const Array a = counted({2, 6}), b = a.reshape({3, -1, 2});
  EXPECT_EQ(b.shape(), (Shape{3, 2, 2}));
  EXPECT_TRUE(a.shares_buffer_with(b));
  EXPECT_EQ(counted({1, 1}).reshape({}).rank(), 0);
  EXPECT_EQ(counted({}).reshape({1, -1}).shape(), (Shape{1, 1}));
  EXPECT_EQ(counted({0, 3}).reshape({3, 0, 5}).size(), 0);
}

TEST_F(ArrayViews, ReshapesStridedElementsWithoutACopyWhereItCan) {
  const Array base = counted({4, 6});
  const Array split = base.slice({{{}, {}, 2}}).reshape({2, 2, 1, 3});  // the last axis splits, the first stays
  EXPECT_TRUE(split.shares_buffer_with(base));
  EXPECT_EQ(split.strides(), (Strides{12, 3, 3, 1}));
  EXPECT_THAT(split.to_vector<std::int64_t>(), ElementsAre(0, 1, 2, 3, 4, 5, 12, 13, 14, 15, 16, 17));
  const Array reversed = counted({6}).slice({{{}, {}, -1}}).reshape({2, 3});
  EXPECT_EQ(reversed.strides(), (Strides{-3, -1}));
  EXPECT_THAT(reversed.to_vector<std::int64_t>(), ElementsAre(5, 4, 3, 2, 1, 0));
}

TEST_F(ArrayViews, CopiesToReshapeWhereStridesDoNotAllowAView) {
  const Array a = counted({2, 3}), b = a.transpose().reshape({6});
  EXPECT_FALSE(a.shares_buffer_with(b));
  EXPECT_THAT(b.to_vector<std::int64_t>(), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(ArrayViews, RefusesToReshapeToAnotherSize) {
  const auto text = [&](const Shape& shape) { return error_of<ShapeError>([&] { counted({2, 3}).reshape(shape); }); };
  EXPECT_THAT(text({4, 2}), HasSubstr("reshape: (2, 3) cannot become (4, 2): 6 elements against 8\n  give extents whose product is 6"));
  EXPECT_THAT(text({4, -1}), HasSubstr("6 elements are not a multiple of 4"));
  EXPECT_THAT(text({-1, -1}), HasSubstr("only one extent may be -1"));
  EXPECT_THAT(text({0, -1}), HasSubstr("beside an extent of 0"));
  EXPECT_THAT(text({-2, 3}), HasSubstr("the extent of axis 0 is -2"));
  EXPECT_THAT(text({kMost, 2}), HasSubstr("more than 2^63 elements"));
}

TEST_F(ArrayViews, ViewsTheBytesAsAnotherDtype) {
  const Array a = Array::from<float>({1.0f, 2.0f, -1.0f}, Device(&backend));
  const Array bits = a.view(uint32, {2}, {1}, 1);
  EXPECT_THAT(bits.to_vector<std::uint32_t>(), ElementsAre(0x40000000u, 0xBF800000u));
  EXPECT_TRUE(bits.shares_buffer_with(a));
}

TEST_F(ArrayViews, KeepsTheElementsAliveForAView) {
  Array view;
  { view = counted({4}).slice({{2, {}}}); }
  EXPECT_TRUE(view.is_unique());
  EXPECT_THAT(view.to_vector<std::int64_t>(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace damo
