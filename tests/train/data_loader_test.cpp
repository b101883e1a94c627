#include <damo/data_loader.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <set>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array_math.hpp>

#include "support/devices.hpp"

using namespace damo;
using namespace damo::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

class DataLoaderOnEachDevice : public OnEachDevice {
 protected:
  /// count rows (2i, 2i + 1), and labels i.
  DataLoader loader(std::int64_t count, LoaderOptions options) const {
    std::vector<std::int64_t> labels(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i);
    options.device = device();
    return DataLoader({range({count, 2}), Array::from(labels, device())}, options);
  }
  /// The labels of an epoch's batches; checks that each row came with its label.
  static std::vector<std::vector<std::int64_t>> epoch_of(const DataLoader& loader, std::int64_t number) {
    std::vector<std::vector<std::int64_t>> batches;
    for (const Batch& batch : loader.epoch(number)) {
      batches.push_back(batch[1].to_vector<std::int64_t>());
      const std::vector<float> rows = batch[0].to_vector<float>();
      EXPECT_EQ(rows.size(), 2 * batches.back().size());
      for (std::size_t i = 0; i < batches.back().size(); ++i) EXPECT_EQ(rows[2 * i + 1], static_cast<float>(2 * batches.back()[i] + 1));
    }
    return batches;
  }
};
DAMO_ON_EACH_DEVICE(DataLoaderOnEachDevice);

TEST_P(DataLoaderOnEachDevice, InOrderTheLastBatchIsKeptOrLeftOut) {
  for (const int prefetch : {0, 1, 3}) {
    EXPECT_THAT(epoch_of(loader(5, {.batch = 2, .shuffle = false, .prefetch = prefetch}), 0), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
    EXPECT_THAT(epoch_of(loader(5, {.batch = 2, .shuffle = false, .drop_last = true, .prefetch = prefetch}), 0), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
  }
  EXPECT_EQ(loader(5, {.batch = 2}).batches(), 3);
  EXPECT_EQ(loader(5, {.batch = 2, .drop_last = true}).batches(), 2);
}

TEST_P(DataLoaderOnEachDevice, EachEpochHasEveryRowOnceInAnOrderOfItsOwn) {
  const DataLoader one = loader(100, {.batch = 7, .seed = 5}), same = loader(100, {.batch = 7, .seed = 5, .prefetch = 0}), other = loader(100, {.batch = 7, .seed = 6});
  const auto first = epoch_of(one, 0);
  EXPECT_EQ(first.size(), 15u);
  EXPECT_EQ(first.back().size(), 2u);
  std::set<std::int64_t> rows;
  for (const auto& batch : first) rows.insert(batch.begin(), batch.end());
  EXPECT_EQ(rows.size(), 100u);
  EXPECT_EQ(epoch_of(same, 0), first);
  EXPECT_EQ(epoch_of(one, 0), first);
  EXPECT_NE(epoch_of(one, 1), first);
  EXPECT_NE(epoch_of(other, 0), first);
}

TEST_P(DataLoaderOnEachDevice, BatchesKeepTheirRowsWhileLaterOnesAreMade) {
  std::vector<Array> held;
  for (const Batch& batch : loader(64, {.batch = 4, .shuffle = false, .prefetch = 3}).epoch(0)) {
    held.push_back(batch[0]);
    held.push_back(batch[0] * 2.0);  // work of the default stream, whose results go back to the pool
    if (held.size() % 4 == 0) held.pop_back();
  }
  std::size_t batches = 0;
  for (const Array& array : held) {
    const std::vector<float> values = array.to_vector<float>();
    if (values[1] - values[0] == 1) EXPECT_EQ(values[0], static_cast<float>(8 * batches++));
  }
  EXPECT_EQ(batches, 16u);
}

TEST_P(DataLoaderOnEachDevice, AReaderMakesRowsAsTheyAreAskedFor) {
  const DataLoader squares(10, [this](std::span<const std::int64_t> rows) {
    std::vector<std::int64_t> values;
    for (const std::int64_t row : rows) values.push_back(row * row);
    return Batch{Array::from(values, device())};
  }, {.batch = 4, .shuffle = false, .device = device()});
  std::vector<std::int64_t> all;
  for (const Batch& batch : squares.epoch(0)) {
    EXPECT_EQ(batch[0].device(), device());
    for (const std::int64_t value : batch[0].to_vector<std::int64_t>()) all.push_back(value);
  }
  EXPECT_THAT(all, ElementsAre(0, 1, 4, 9, 16, 25, 36, 49, 64, 81));
}

TEST(DataLoader, WhatTheThreadThrowsTheLoopThrows) {
  const Device cpu("cpu");
  for (const int prefetch : {0, 2}) {
    const DataLoader loader(9, [&](std::span<const std::int64_t> rows) -> Batch {
      if (rows[0] == 6) throw std::runtime_error("row 6 is gone");
      return {Array::zeros({static_cast<std::int64_t>(rows.size())}, float32, cpu)};
    }, {.batch = 3, .shuffle = false, .prefetch = prefetch, .device = cpu});
    int batches = 0;
    std::string error;
    try {
      for (const Batch& batch : loader.epoch(0)) batches += static_cast<int>(batch.size());
    } catch (const std::runtime_error& thrown) {
      error = thrown.what();
    }
    EXPECT_EQ(batches, 2);  // those before it
    EXPECT_EQ(error, "row 6 is gone");
  }
}

TEST(DataLoader, WithoutAThreadTheSameRowsComeAgainAfterAnException) {
  const Device cpu("cpu");
  std::vector<std::size_t> asked;
  const DataLoader loader(3, [&](std::span<const std::int64_t> rows) -> Batch {
    asked.push_back(rows.size());
    if (asked.size() == 1) throw std::runtime_error("not yet");
    return {Array::zeros({static_cast<std::int64_t>(rows.size())}, float32, cpu)};
  }, {.batch = 2, .shuffle = false, .prefetch = 0, .device = cpu});
  auto epoch = loader.epoch(0);
  EXPECT_THROW(epoch.next(), std::runtime_error);
  EXPECT_TRUE(epoch.next());
  EXPECT_TRUE(epoch.next());
  EXPECT_FALSE(epoch.next());
  EXPECT_THAT(asked, ElementsAre(2, 2, 1));
}

TEST(DataLoader, ABatchMayBeLargerThanAllRows) {
  const DataLoader loader({Array::ones({20, 2}, float32, Device("cpu"))}, {.batch = std::numeric_limits<std::int64_t>::max(), .device = Device("cpu")});
  EXPECT_EQ(loader.batches(), 1);
  EXPECT_EQ((*loader.epoch(0).next())[0].shape(), (Shape{20, 2}));
}

TEST(DataLoader, ALoopThatIsLeftEndsItsThread) {
  const Device cpu("cpu");
  std::atomic<int> made = 0;
  const DataLoader loader(1000, [&](std::span<const std::int64_t>) -> Batch {
    ++made;
    return {Array::zeros({1}, float32, cpu)};
  }, {.batch = 1, .prefetch = 2, .device = cpu});
  for (const Batch& batch : loader.epoch(0)) {
    (void)batch;
    break;
  }
  const int then = made;
  EXPECT_LE(then, 4);  // the one that was taken, two ahead, one more when a place was free
  EXPECT_EQ(made, then);
}

TEST(DataLoader, SaysWhatCannotBeLoaded) {
  const Device cpu("cpu");
  const Array x = Array::zeros({4, 2}, float32, cpu), y = Array::zeros({3}, float32, cpu);
  const auto error = [](auto&& make) { return error_of<UserError>(make); };
  EXPECT_THAT(error([&] { DataLoader({x}, {.batch = 0}); }), HasSubstr("data loader: a batch has one row and more, this one 0"));
  EXPECT_THAT(error([&] { DataLoader({x, y}); }), HasSubstr("arrays have as many rows as the first, (4, 2); this one is (3,)"));
  EXPECT_THAT(error([&] { DataLoader({x, Array::scalar(1.0f, cpu)}); }), HasSubstr("data loader: float32 () on cpu has no rows"));
  EXPECT_THAT(error([&] { DataLoader({x, Array()}); }), HasSubstr("data loader: an Array is empty"));
  EXPECT_THAT(error([&] { DataLoader({Array::zeros({0, 2}, float32, cpu)}); }), HasSubstr("there are no rows to make batches of"));
  EXPECT_THAT(error([&] { DataLoader(std::vector<Array>{}); }), HasSubstr("there are no arrays to make batches of\n  give at least one"));
  EXPECT_THAT(error([&] { DataLoader({x}, {.batch = 5, .drop_last = true}); }), HasSubstr("an epoch of 4 rows has no batch of 5"));
  EXPECT_THAT(error([&] { DataLoader(4, DataLoader::Reader(), {.device = cpu}).epoch(0); }), HasSubstr("data loader: there are neither arrays nor a reader"));
  EXPECT_THAT(error([&] { DataLoader({x}, {.prefetch = -1}); }), HasSubstr("prefetch is 0 and more, this one -1"));
  const DataLoader wrong(4, [&](std::span<const std::int64_t>) -> Batch { return {y}; }, {.batch = 2, .device = cpu});
  EXPECT_THAT(error([&] { wrong.epoch(0).next(); }), HasSubstr("the reader gave (3,) for 2 rows"));
}

}  // namespace
