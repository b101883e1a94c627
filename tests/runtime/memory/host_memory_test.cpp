#include <damo/host_memory.hpp>

#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/memory.hpp>
#include <damo/stream.hpp>

#include "support/cuda_c_kernel.hpp"
#include "support/devices.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::Each;
using ::testing::HasSubstr;

class HostMemoryOnEachDevice : public damo::testing::OnEachDevice {
 protected:
  /// Runs scale on an address of the device.
  void scale(void* values, int count, float factor) {
    const auto kernel = damo::testing::cuda_c_kernel(device(), "scale", damo::testing::kScale);
    damo::testing::launch(*kernel, {.grid = {(count + 255) / 256}, .block = {256}}, nullptr, values, count, factor);
    device().synchronize();
  }
};

TEST_P(HostMemoryOnEachDevice, PinnedMemoryHasTypedElements) {
  const PinnedMemory memory(10, device());
  EXPECT_EQ(memory.as<int>().size(), 2u) << "whole elements only";
  EXPECT_EQ(static_cast<void*>(memory.as<char>().data()), memory.data());
  EXPECT_THAT(error_of([&] { memory.device_data(); }), HasSubstr("make it with {.mapped = true}"));
}

TEST_P(HostMemoryOnEachDevice, AKernelWorksInMappedMemoryInPlace) {
  const PinnedMemory memory(1000 * sizeof(float), device(), {.mapped = true});
  std::fill(memory.as<float>().begin(), memory.as<float>().end(), 1.5f);
  scale(memory.device_data(), 1000, 2);
  EXPECT_THAT(memory.as<float>(), Each(3.0f));
}

TEST_P(HostMemoryOnEachDevice, AKernelWorksInRegisteredMemoryInPlace) {
  std::vector<float> values(1000, 1.5f);
  {
    const RegisteredMemory memory(values, device(), {.mapped = true});
    scale(memory.device_data(), 1000, 2);
  }
  EXPECT_THAT(values, Each(3.0f));
  const RegisteredMemory again(values, device());
  EXPECT_THAT(error_of([&] { again.device_data(); }), HasSubstr("this RegisteredMemory is not mapped"));
  const RegisteredMemory nothing(values.data(), 0, device());
  EXPECT_THAT(error_of([&] { RegisteredMemory(nullptr, 8, device()); }), HasSubstr("the address is null"));
}

TEST_P(HostMemoryOnEachDevice, HostAndDeviceShareManagedMemory) {
  const ManagedMemory memory(1000 * sizeof(float), device());
  const Stream stream = Stream::default_of(device());
  std::fill(memory.as<float>().begin(), memory.as<float>().end(), 1.5f);
  memory.advise(MemoryAdvice::kPreferDevice);
  memory.prefetch(stream);
  scale(memory.data(), 1000, 2);
  memory.prefetch_to_host(stream);
  stream.synchronize();
  EXPECT_THAT(memory.as<float>(), Each(3.0f));
}

TEST_P(HostMemoryOnEachDevice, WriteCombinedMemoryIsCopiedFrom) {
  const PinnedMemory memory(4000, device(), {.write_combined = true});
  std::fill(memory.as<int>().begin(), memory.as<int>().end(), 11);
  const DeviceMemory there(device(), 4000);
  there.copy_from_host(memory.as<int>());
  EXPECT_THAT(there.to_vector<int>(), Each(11));
}

TEST_P(HostMemoryOnEachDevice, ArraysWaitForCopiesOfPinnedMemory) {
  const std::size_t count = 1 << 22;
  const PinnedMemory in(count * sizeof(float), device()), out(count * sizeof(float), device());
  std::fill(in.as<float>().begin(), in.as<float>().end(), 2.0f);
  const Array array = Array::from(std::span<const float>(in.as<float>()), Shape{1 << 22}, device());
  std::fill(in.as<float>().begin(), in.as<float>().end(), -1.0f);
  array.to_host(out.data());
  EXPECT_THAT(std::vector<float>(out.as<float>().begin(), out.as<float>().end()), Each(2.0f));
}

DAMO_ON_EACH_DEVICE(HostMemoryOnEachDevice);

TEST(RegisteredMemoryOnCuda, RefusesWhatIsPinnedAlready) {
  std::optional<Device> gpu;
  try {
    gpu = Device("cuda");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs a GPU: " << error.what();
  }
  std::vector<float> values(1000);
  const RegisteredMemory memory(values, *gpu);
  EXPECT_THAT(error_of([&] { RegisteredMemory(values, *gpu); }), HasSubstr("4000 bytes is pinned already"));
}

}  // namespace
}  // namespace damo
