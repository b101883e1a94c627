#include <damo/graph_lists.hpp>

#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace damo {
namespace {

using Numbers = std::vector<int>;

Numbers numbers_of(const SmallList<int, 2>& list) { return {list.begin(), list.end()}; }

TEST(PagedList, KeepsItsElementsWhereTheyAre) {
  PagedList<std::shared_ptr<int>> list;
  std::vector<const std::shared_ptr<int>*> places;
  for (int i = 0; i < 1000; ++i) places.push_back(&list.push_back(std::make_shared<int>(i)));
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(places[static_cast<std::size_t>(i)], &list[static_cast<std::size_t>(i)]);
    EXPECT_EQ(*list[static_cast<std::size_t>(i)], i);
  }
}

TEST(PagedList, FreesWhatItHoldsAndCopiesShareNothing) {
  const auto value = std::make_shared<int>(1);
  {
    PagedList<std::shared_ptr<int>> list;
    for (int i = 0; i < 20; ++i) list.push_back(value);
    PagedList<std::shared_ptr<int>> copy = list, moved = std::move(list);
    EXPECT_EQ(value.use_count(), 41);
    copy[3] = nullptr;
    EXPECT_EQ(moved[3], value);
    EXPECT_EQ(list.size(), 0u);  // NOLINT: what a list that was moved from holds is stated here
    moved = copy;
    EXPECT_EQ(value.use_count(), 39);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(SmallList, GrowsBeyondWhatItHoldsInside) {
  SmallList<int, 2> list;
  EXPECT_TRUE(list.empty());
  for (int i = 0; i < 5; ++i) list.push_back(i);
  EXPECT_EQ(numbers_of(list), (Numbers{0, 1, 2, 3, 4}));
  list.erase_if([](int i) { return i % 2 == 0; });
  EXPECT_EQ(numbers_of(list), (Numbers{1, 3}));
}

TEST(SmallList, IsCopiedAndMovedInEitherForm) {
  for (int count : {2, 7}) {
    SmallList<int, 2> list;
    for (int i = 0; i < count; ++i) list.push_back(i);
    SmallList<int, 2> copy = list;
    copy[0] = 9;
    EXPECT_EQ(list[0], 0);
    SmallList<int, 2> moved = std::move(list);
    EXPECT_TRUE(list.empty());  // NOLINT
    list = copy;
    copy = std::move(moved);
    EXPECT_EQ(list[0], 9);
    EXPECT_EQ(copy[0], 0);
    EXPECT_EQ(copy.size(), static_cast<std::size_t>(count));
  }
}

}  // namespace
}  // namespace damo
