#include "runtime/array/array_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <vector>

namespace damo {
namespace {

// Offset of the n-th element in C order, by division: nothing shared with copy_strided.
std::int64_t offset_of(std::int64_t n, const Shape& shape, const Strides& strides) {
  std::int64_t offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += n % shape[axis] * strides[axis];
    n /= shape[axis];
  }
  return offset;
}

template <class T>
void expect_copied(const Shape& shape, const Strides& to, const Strides& from) {
  const ByteRange to_range = byte_range(shape, to, 1), from_range = byte_range(shape, from, 1);
  std::vector<T> source(from_range.bytes()), target(to_range.bytes(), T(0)), expected = target;
  std::iota(source.begin(), source.end(), T(1));
  T* const from_first = source.data() - from_range.first;
  for (std::int64_t n = 0; n < shape.size(); ++n) {
    (expected.data() - to_range.first)[offset_of(n, shape, to)] = from_first[offset_of(n, shape, from)];
  }
  copy_strided(sizeof(T), shape, target.data() - to_range.first, to, from_first, from);
  EXPECT_EQ(target, expected) << to_string(shape) << " to " << to_string(to) << " from " << to_string(from);
}

TEST(ArrayLayout, FindsTheBytesOfTheElements) {
  EXPECT_EQ(byte_range({}, {}, 8).bytes(), 8u);
  EXPECT_EQ(byte_range({3, 4}, {4, 1}, 4).last, 48);
  const ByteRange reversed = byte_range({3, 4}, {-4, 2}, 4);
  EXPECT_EQ(reversed.first, -32);
  EXPECT_EQ(reversed.last, 28);
  EXPECT_EQ(byte_range({5, 5}, {0, 0}, 2).bytes(), 2u);
  EXPECT_EQ(byte_range({5, 0}, {100, -100}, 4).bytes(), 0u);
  EXPECT_EQ(byte_range({3}, {std::int64_t{1} << 32}, 4).last, (std::int64_t{1} << 35) + 4);
}

TEST(ArrayLayout, TellsDenseLayoutsFromOnesWithGaps) {
  EXPECT_TRUE(is_dense({3, 4}, {4, 1}));
  EXPECT_TRUE(is_dense({3, 4}, {1, -3}));
  EXPECT_TRUE(is_dense({3, 1, 4}, {4, 999, 1}));
  EXPECT_TRUE(is_dense({}, {}));
  EXPECT_FALSE(is_dense({3, 4}, {5, 1}));
  EXPECT_FALSE(is_dense({3, 4}, {0, 1}));
}

TEST(ArrayLayout, CopiesPlanesLargerThanATile) {
  expect_copied<std::int32_t>({70, 45}, {45, 1}, {1, 70});
  expect_copied<std::int64_t>({70, 45}, {1, 70}, {45, 1});
  expect_copied<std::int16_t>({33, 64}, {64, 1}, {0, 1});
  expect_copied<std::uint8_t>({5, 40, 33}, {1, 5, 200}, {1320, -33, 1});
}

TEST(ArrayLayout, CopiesRandomLayouts) {
  std::mt19937 random(7);
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<unsigned>(limit)); };
  for (int round = 0; round < 500; ++round) {
    const int rank = below(6);
    Shape shape;
    for (int axis = 0; axis < rank; ++axis) shape.push_back(below(12) == 0 ? 0 : 1 + below(6));
    Strides layouts[2] = {shape, shape};  // axes in random order, with gaps and of either sign
    for (Strides& strides : layouts) {
      std::vector<int> order(static_cast<std::size_t>(rank));
      std::iota(order.begin(), order.end(), 0);
      std::shuffle(order.begin(), order.end(), random);
      std::int64_t step = 1 + below(2);
      for (int axis : order) {
        strides[axis] = below(3) == 0 ? -step : step;
        step = step * std::max<std::int64_t>(shape[axis], 1) + below(2);
      }
    }
    EXPECT_EQ(shared_places(shape, layouts[0], "x"), "");
    if (rank > 0 && below(3) == 0) layouts[1][below(rank)] = 0;
    expect_copied<std::uint8_t>(shape, layouts[0], layouts[1]);
    expect_copied<std::int32_t>(shape, layouts[0], layouts[1]);
  }
}

TEST(ArrayLayout, SeesPlacesThatElementsShare) {
  EXPECT_EQ(shared_places({2, 3}, {0, 1}, "x"), "axis 0 of x is broadcast: its 2 elements are one");
  EXPECT_EQ(shared_places({2, 2}, {1, -1}, "x"), "elements of x share places: its shape is (2, 2), its strides are (1, -1)");
  EXPECT_EQ(shared_places({0, 2}, {0, 0}, "x"), "");
  for (std::int64_t a = -5; a <= 5; ++a) {
    for (std::int64_t b = -5; b <= 5; ++b) {
      std::set<std::int64_t> places;
      for (std::int64_t i = 0; i < 3; ++i) {
        for (std::int64_t j = 0; j < 4; ++j) places.insert(i * a + j * b);
      }
      if (places.size() < 12) EXPECT_NE(shared_places({3, 4}, {a, b}, "x"), "") << a << " " << b;
    }
  }
}

}  // namespace
}  // namespace damo
