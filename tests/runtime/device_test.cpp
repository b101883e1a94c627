#include <damo/device.hpp>

#include <cstring>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/copy_speed.hpp"
#include "runtime/null/null_backend.hpp"
#include "support/counting_backend.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

/// On the null device: nothing here needs a compiler.
class DeviceTest : public ::testing::Test {
 protected:
  Device device_{"null"};
};

TEST_F(DeviceTest, HasItsNameKindAndBackend) {
  EXPECT_EQ(device_.name(), "null");
  EXPECT_EQ(device_.kind(), DeviceKind::kNull);
  EXPECT_TRUE(device_.is_host());
  EXPECT_EQ(&device_.backend(), &Device("null").backend());
  EXPECT_TRUE(device_ == Device("null"));
}

TEST_F(DeviceTest, TellsItsProperties) {
  const DeviceProperties properties = device_.properties();
  EXPECT_EQ(properties.architecture, "null");
  EXPECT_GT(properties.memory_bytes, std::size_t{1} << 28);
  EXPECT_LE(properties.free_memory_bytes, properties.memory_bytes);
  EXPECT_EQ(properties.max_threads_per_block, 1024);
}

TEST_F(DeviceTest, MeasuresACopyAndRemembersIt) {
  const double rate = device_.measure_copy();
  EXPECT_GT(rate, 1e8);
  EXPECT_EQ(device_.properties().copy_bytes_per_second, rate);
  EXPECT_EQ(device_.memory().in_use_bytes, 0u);
  device_.free_cache();
  EXPECT_EQ(device_.memory().cached_bytes, 0u);
  std::printf("[ figure ] copy of 256 MiB on one thread: %.1f GB/s, reads and writes\n", rate * 1e-9);
}

TEST_F(DeviceTest, WhoWantsToKnowTheCopysSpeedMeasuresItOnce) {
  const double rate = copy_speed(device_);
  const std::uint64_t before = device_.memory().allocations;
  EXPECT_EQ(copy_speed(device_), rate);
  EXPECT_EQ(device_.memory().allocations, before);
}

TEST_F(DeviceTest, MeasuresNoCopyBeyondItsMemoryLimit) {
  device_.set_memory_limit(300u << 20);
  EXPECT_THROW(device_.measure_copy(), OutOfMemoryError);
  device_.set_memory_limit(0);
  EXPECT_EQ(device_.memory().in_use_bytes, 0u) << "the first of its two blocks was given back";
}

TEST_F(DeviceTest, StreamsBelongToADevice) {
  const Stream own(device_), usual = Stream::default_of(device_);
  EXPECT_TRUE(own.device() == device_);
  EXPECT_EQ(usual.handle(), nullptr);
  own.synchronize();
  device_.synchronize();
}

TEST_F(DeviceTest, EventsTellTheTimeBetweenThem) {
  const Stream stream = Stream::default_of(device_);
  const Event begin(device_), end(device_);
  begin.record(stream);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  end.record(stream);
  stream.wait(end);
  end.synchronize();
  EXPECT_TRUE(end.is_done());
  EXPECT_GE(end.milliseconds_since(begin), 20.0);
  EXPECT_LT(end.milliseconds_since(begin), 2000.0);
  EXPECT_LE(begin.milliseconds_since(end), -20.0);
}

TEST_F(DeviceTest, AnEventThatWasNeverRecordedHasNoTime) {
  const Event begin(device_), end(device_);
  begin.record(Stream::default_of(device_));
  try {
    end.milliseconds_since(begin);
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_STREQ(error.what(), "an event was never recorded\n  call record() on both events first");
  }
}

TEST_F(DeviceTest, EventsOfTwoDevicesAreNotMixed) {
  damo::testing::CountingBackend other;
  const Event mine(device_), theirs{Device(&other)};
  EXPECT_THROW(mine.record(Stream::default_of(Device(&other))), DeviceError);
  EXPECT_THROW(mine.milliseconds_since(theirs), DeviceError);
}

TEST_F(DeviceTest, PinnedMemoryMovesAndIsGivenBack) {
  PinnedMemory memory(1000, device_);
  ASSERT_NE(memory.data(), nullptr);
  std::memset(memory.data(), 7, memory.size());
  void* const address = memory.data();
  PinnedMemory moved(std::move(memory));
  EXPECT_EQ(moved.data(), address);
  EXPECT_EQ(memory.data(), nullptr);
  PinnedMemory other(10, device_);
  other = std::move(moved);
  EXPECT_EQ(other.data(), address);
  EXPECT_EQ(other.size(), 1000u);
  EXPECT_EQ(PinnedMemory(0, device_).data(), nullptr);
}

TEST_F(DeviceTest, PinnedMemoryBeyondTheMachinesIsAnError) {
  EXPECT_THROW(PinnedMemory(std::size_t{1} << 60, device_), OutOfMemoryError);
}

}  // namespace
}  // namespace damo
