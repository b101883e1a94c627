#include <damo/stream.hpp>

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/event.hpp>
#include <damo/memory.hpp>

#include "support/cuda_c_kernel.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class StreamOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(StreamOnEachDevice, RunsCallbacksInOrderBetweenItsWork) {
  const Stream stream(device());
  const DeviceMemory memory = DeviceMemory::from(device(), std::vector<int>{1, 2});
  PinnedMemory first(8, device()), second(8, device());
  std::atomic<int> seen = 0;
  memory.copy_to_host(first.as<int>(), stream);
  stream.add_callback([&] { seen = first.as<int>()[1] * 10; });
  memory.fill(5, 2, stream);
  memory.copy_to_host(second.as<int>(), stream);
  stream.add_callback([&] { seen = seen + second.as<int>()[0]; });
  stream.synchronize();
  EXPECT_EQ(seen, 25);
  EXPECT_TRUE(stream.is_done());
}

TEST_P(StreamOnEachDevice, ThrowsWhatACallbackThrewAtTheNextWaitOnce) {
  const Stream stream(device()), other(device());
  stream.add_callback([] { throw std::runtime_error("the disk is full"); });
  other.synchronize();  // not its own
  try {
    stream.synchronize();
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.what(), "a callback on a stream of " + device().name() + " threw: the disk is full");
    EXPECT_THROW(std::rethrow_if_nested(error), std::runtime_error) << "the original comes along";
  }
  stream.synchronize();
  other.add_callback([] { throw 42; });
  EXPECT_THAT(error_of([&] { device().synchronize(); }), HasSubstr("something that is no std::exception"));
  device().synchronize();
}

TEST_P(StreamOnEachDevice, TakesPrioritiesBeyondTheRange) {
  const StreamPriorities range = Stream::priorities(device());
  EXPECT_LE(range.greatest, range.least);
  const Stream urgent(device(), {.priority = -1000}), patient(device(), {.priority = 1000, .non_blocking = true});
  urgent.synchronize();
  patient.synchronize();
  EXPECT_FALSE(urgent == patient);
  EXPECT_FALSE(urgent.is_default());
  EXPECT_TRUE(Stream::default_of(device()) == Stream::default_of(device()));
}

TEST_P(StreamOnEachDevice, WaitsForAnEventOfAnotherStream) {
  const Stream first(device()), second(device());
  const Event done(device(), {.timing = false});
  second.wait(done);  // never recorded: no wait
  const DeviceMemory memory = DeviceMemory::from(device(), std::vector<int>(1 << 20, 1));
  memory.fill(3, 1 << 20, first);
  done.record(first);
  second.wait(done);
  PinnedMemory last(4, device());
  (memory + ((1 << 20) - 1) * sizeof(int)).copy_to_host(last.as<int>(), second);
  second.synchronize();
  EXPECT_EQ(last.as<int>()[0], 3);
  EXPECT_TRUE(done.is_done());
}

TEST_P(StreamOnEachDevice, AnEmptyCallbackIsRefused) {
  EXPECT_THAT(error_of([&] { Stream(device()).add_callback({}); }), HasSubstr("the function is empty"));
}

TEST_P(StreamOnEachDevice, AnEventWithoutTimingHasNoMilliseconds) {
  const Stream stream(device());
  const Event begin(device()), end(device(), {.timing = false, .blocking = true});
  begin.record(stream);
  end.record(stream);
  end.synchronize();
  EXPECT_THAT(error_of([&] { (void)end.milliseconds_since(begin); }), HasSubstr("was made without timing"));
}

DAMO_ON_EACH_DEVICE(StreamOnEachDevice);

constexpr const char* kSlow = R"(extern "C" __global__ void slow(int* x, int n, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = 1;
})";

TEST(StreamOnCuda, MemoryFreedWhileAStreamUsesItIsReusedOnlyAfterwards) {
  std::optional<Device> gpu;
  try {
    gpu = Device("cuda");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs a GPU: " << error.what();
  }
  const auto kernel = damo::testing::cuda_c_kernel(*gpu, "slow", kSlow);
  const Stream side(*gpu), second(*gpu);
  for (int round = 0; round < 3; ++round) {
    auto memory = DeviceMemory::of<int>(*gpu, 100000);
    const void* const address = memory.data();
    damo::testing::launch(*kernel, {.block = {256}}, side.handle(), memory.data(), 100000, 20'000'000LL);
    EXPECT_FALSE(side.is_done());
    memory.free();
    const auto again = DeviceMemory::of<int>(*gpu, 100000);
    EXPECT_EQ(again.data(), address) << "the pool hands out the same block";
    if (round == 0) again.fill(7);  // on the default stream
    if (round == 1) again.fill(7, 100000, second);
    if (round == 2) again.fill(7, 100000, Stream(*gpu));
    gpu->synchronize();
    EXPECT_THAT(again.to_vector<int>(), ::testing::Each(7)) << round;
  }
}

TEST(StreamOnCuda, TwoStreamsRunBesideEachOther) {
  std::optional<Device> gpu;
  try {
    gpu = Device("cuda");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs a GPU: " << error.what();
  }
  const auto kernel = damo::testing::cuda_c_kernel(*gpu, "slow", kSlow);
  const auto a = DeviceMemory::of<int>(*gpu, 1), b = DeviceMemory::of<int>(*gpu, 1);
  const Stream first(*gpu), second(*gpu);
  const Event begin(*gpu), one(*gpu), both(*gpu);
  gpu->synchronize();
  begin.record(first);
  damo::testing::launch(*kernel, {}, first.handle(), a.data(), 1, 40'000'000LL);
  one.record(first);
  damo::testing::launch(*kernel, {}, second.handle(), b.data(), 1, 40'000'000LL);
  both.record(second);
  gpu->synchronize();
  EXPECT_LT(both.milliseconds_since(begin), 1.5 * one.milliseconds_since(begin));
}

}  // namespace
}  // namespace damo
