#include <damo/memory.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/dlpack.hpp>
#include <damo/error.hpp>
#include <damo/host_memory.hpp>
#include <damo/stream.hpp>

#include "support/cuda_c_kernel.hpp"
#include "support/devices.hpp"
#include "support/host_backend.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DeviceMemoryOnEachDevice : public damo::testing::OnEachDevice {};

std::vector<int> counting(int count, int first = 0) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

TEST_P(DeviceMemoryOnEachDevice, CopiesAnyContiguousHostRangeBothWays) {
  const auto memory = DeviceMemory::of<int>(device(), 4);
  EXPECT_EQ(memory.size(), 16u);
  memory.copy_from_host(std::vector<int>{1, 2, 3, 4});
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(1, 2, 3, 4));
  memory.copy_from_host(std::array<int, 2>{7, 8});
  int plain[4] = {};
  memory.copy_to_host(plain);
  EXPECT_THAT(plain, ElementsAre(7, 8, 3, 4));
  std::vector<int> first(2);
  memory.copy_to_host(std::span<int>(first));
  EXPECT_THAT(first, ElementsAre(7, 8));
}

TEST_P(DeviceMemoryOnEachDevice, IsGivenBackAtItsEndAndByFree) {
  const std::size_t before = device().memory().in_use_bytes;
  {
    const DeviceMemory memory(device(), 5000);
    EXPECT_GE(device().memory().in_use_bytes, before + 5000);
  }
  EXPECT_EQ(device().memory().in_use_bytes, before);
  DeviceMemory memory(device(), 5000);
  const DevicePointer place = memory + 100;
  memory.free();
  EXPECT_EQ(device().memory().in_use_bytes, before);
  EXPECT_TRUE(place.is_freed());
}

TEST_P(DeviceMemoryOnEachDevice, IsHeldAliveByAPointerIntoItAndByAnArray) {
  std::optional<DeviceMemory> memory(DeviceMemory::from(device(), counting(6)));
  const DevicePointer last = *memory + 4 * sizeof(int);
  const Array array = memory->array(int32, {2, 3});
  memory.reset();
  EXPECT_THAT(last.to_vector<int>(), ElementsAre(4, 5));
  EXPECT_THAT(array.to_vector<std::int32_t>(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_P(DeviceMemoryOnEachDevice, AnArrayKeepsItsElementsPastAFree) {
  DeviceMemory memory = DeviceMemory::from(device(), counting(3, 5));
  const Array array = memory.array(int32, {3});
  memory.free();
  EXPECT_THAT(array.to_vector<std::int32_t>(), ElementsAre(5, 6, 7));
}

TEST_P(DeviceMemoryOnEachDevice, CopiesWithinTheDeviceAtOffsets) {
  const DeviceMemory from = DeviceMemory::from(device(), counting(8)),
                     to = DeviceMemory::from(device(), counting(8, 100));
  (to + 2 * sizeof(int)).copy_from(from + 5 * sizeof(int), 3 * sizeof(int));
  EXPECT_THAT(to.to_vector<int>(), ElementsAre(100, 101, 5, 6, 7, 105, 106, 107));
}

TEST_P(DeviceMemoryOnEachDevice, CopiesToAndFromTheNullDevice) {
  const DeviceMemory here = DeviceMemory::from(device(), counting(5)), there(Device("null"), 5 * sizeof(int));
  there.copy_from(here, 5 * sizeof(int));
  EXPECT_EQ(there.to_vector<int>(), counting(5));
  here.fill(0);
  here.copy_from(there, 5 * sizeof(int));
  EXPECT_EQ(here.to_vector<int>(), counting(5));
}

TEST_P(DeviceMemoryOnEachDevice, FillsWithElementsOfOneToEightBytes) {
  const DeviceMemory memory(device(), 64);
  memory.fill(std::uint8_t{0xAB});
  EXPECT_THAT(memory.to_vector<std::uint8_t>(), Each(0xAB));
  memory.fill(std::uint16_t{0x1234}, 3);
  EXPECT_THAT(memory.first(8).to_vector<std::uint16_t>(), ElementsAre(0x1234, 0x1234, 0x1234, 0xABAB));
  memory.fill(2.5f);
  EXPECT_THAT(memory.to_vector<float>(), Each(2.5f));
  memory.fill(0.1);
  EXPECT_THAT(memory.to_vector<double>(), Each(0.1));
}

TEST_P(DeviceMemoryOnEachDevice, FillsAndCopiesRows) {
  const DeviceMemory memory = DeviceMemory::pitched(device(), 3 * sizeof(int), 4);
  EXPECT_GE(memory.pitch(), 3 * sizeof(int));
  EXPECT_EQ(memory.size(), 4 * memory.pitch());
  const std::vector<int> values = counting(12);
  copy_2d(memory, Rows(values, 3 * sizeof(int)), 3 * sizeof(int), 4);
  memory.fill_2d(-1, memory.pitch(), 2, 3);
  (memory + 2 * sizeof(int)).fill_2d(0.5, memory.pitch(), 1, 0);
  std::vector<int> back(16, 7);
  copy_2d(Rows(back, 4 * sizeof(int)), memory, 3 * sizeof(int), 4);
  EXPECT_THAT(back, ElementsAre(-1, -1, 2, 7, -1, -1, 5, 7, -1, -1, 8, 7, 9, 10, 11, 7));
  const DeviceMemory dense(device(), 12 * sizeof(int));
  copy_2d(Rows(dense, 3 * sizeof(int)), memory, 3 * sizeof(int), 4);
  EXPECT_THAT(dense.to_vector<int>(), ElementsAre(-1, -1, 2, -1, -1, 5, -1, -1, 8, 9, 10, 11));
}

TEST_P(DeviceMemoryOnEachDevice, CopiesOnAStreamInOrder) {
  const Stream stream(device());
  PinnedMemory in(4 * sizeof(int), device()), out(4 * sizeof(int), device());
  std::iota(in.as<int>().begin(), in.as<int>().end(), 1);
  const auto memory = DeviceMemory::of<int>(device(), 4), other = DeviceMemory::of<int>(device(), 4);
  memory.copy_from_host(in.as<int>(), stream);
  other.copy_from(memory, 4 * sizeof(int), stream);
  other.fill(9, 1, stream);
  other.copy_to_host(out.as<int>(), stream);
  stream.synchronize();
  EXPECT_THAT(out.as<int>(), ElementsAre(9, 2, 3, 4));
}

TEST_P(DeviceMemoryOnEachDevice, SharesTheElementsOfAnArray) {
  const Array matrix = range({2, 3});
  const DevicePointer row = DevicePointer(matrix.slice({{1, 2}}));
  EXPECT_EQ(row.size(), 3 * sizeof(float));
  row.fill(0.0f);
  EXPECT_THAT(matrix.to_vector<float>(), ElementsAre(0, 1, 2, 0, 0, 0));
  EXPECT_THAT(error_of([&] { DevicePointer(matrix.transpose()); }),
              HasSubstr("is not in C order"));
}

TEST_P(DeviceMemoryOnEachDevice, PassesThePointerToTheSecondStructAlone) {
  struct Operation {
    int length;
    float* values;
  };
  const auto kernel = damo::testing::cuda_c_kernel(device(), "double_each", R"(
struct Operation { int length; float* values; };
extern "C" __global__ void double_each(Operation* operations) {
  const Operation operation = operations[blockIdx.x];
  for (int i = threadIdx.x; i < operation.length; i += blockDim.x) operation.values[i] *= 2;
})");
  const DeviceMemory first = DeviceMemory::from(device(), std::vector<float>{1, 2, 3});
  const DeviceMemory second = DeviceMemory::from(device(), std::vector<float>{0, 4});
  const DeviceMemory both =
      DeviceMemory::from(device(), std::vector<Operation>{{3, first.as<float>()}, {2, second.as<float>()}});
  damo::testing::launch(*kernel, {.grid = {2}, .block = {32}}, nullptr, both.data());
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(0, 8));
  const DevicePointer alone = both + sizeof(Operation);
  EXPECT_EQ(alone - both, 16);
  damo::testing::launch(*kernel, {.grid = {1}, .block = {32}}, nullptr, alone.data());
  EXPECT_THAT(first.to_vector<float>(), ElementsAre(2, 4, 6));
  EXPECT_THAT(second.to_vector<float>(), ElementsAre(0, 16));
}

TEST_P(DeviceMemoryOnEachDevice, IsAKernelsArgument) {
  const Kernel kernel(damo::testing::cuda_c_kernel(device(), "scale", damo::testing::kScale),
                      Stream::default_of(device()));
  DeviceMemory memory = DeviceMemory::from(device(), std::vector<float>{1, 2, 3});
  kernel({.block = {32}}, memory, 3, 2.0f);
  kernel({.block = {32}}, memory + sizeof(float), 2, 2.0f);
  EXPECT_THAT(memory.to_vector<float>(), ElementsAre(2, 8, 12));
  const PinnedMemory mapped(8, device(), {.mapped = true});
  mapped.as<float>()[0] = 5;
  kernel({.block = {32}}, mapped, 1, 2.0f);
  const ManagedMemory managed(8, device());
  managed.as<float>()[0] = 6;
  kernel({.block = {32}}, managed, 1, 2.0f);
  device().synchronize();
  EXPECT_EQ(mapped.as<float>()[0], 10.0f);
  EXPECT_EQ(managed.as<float>()[0], 12.0f);
  memory.free("program.cpp", 12);
  EXPECT_THAT(
      error_of([&] { kernel({.block = {32}}, memory, 3, 2.0f); }),
      HasSubstr("launch: this DeviceMemory of 12 bytes on " + device().name() + " was freed at program.cpp:12"));
  EXPECT_THAT(
      error_of([&] { kernel({.block = {32}}, DeviceMemory(Device("null"), 12), 3, 2.0f); }),
      HasSubstr("null"));
}

DAMO_ON_EACH_DEVICE(DeviceMemoryOnEachDevice);

/// Two GPUs, each with its pool.
class MemoryLimitOnCudaPair : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      first_.emplace("cuda:0");
      second_.emplace("cuda:1");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs two GPUs: " << error.what();
    }
    for (const Device& device : {*first_, *second_}) device.free_cache();
  }
  void TearDown() override {
    for (const std::optional<Device>& device : {first_, second_}) {
      if (device) device->set_memory_limit(0);
    }
  }
  template <class Work>
  static std::string error_of(Work&& work) {
    return damo::testing::error_of<Error>(std::forward<Work>(work));
  }
  static std::size_t in_use(const std::optional<Device>& device) { return device->memory().in_use_bytes; }

  static constexpr std::int64_t kCount = std::int64_t{16} << 20;
  static constexpr std::size_t kBytes = kCount * sizeof(float);  // 64 MiB
  std::optional<Device> first_, second_;
};

TEST_F(MemoryLimitOnCudaPair, HoldsForOneOfThemAlone) {
  const std::size_t before = in_use(first_);
  first_->set_memory_limit(before + kBytes / 2);
  const std::string text = error_of([&] { Array::ones({kCount}, float32, *first_); });
  EXPECT_THAT(text, HasSubstr("cuda:0: memory limit reached: 64.00 MiB asked for"));
  const std::size_t before_second = in_use(second_);
  const Array ones = Array::ones({kCount}, float32, *second_);
  EXPECT_EQ(in_use(second_), before_second + kBytes);
  EXPECT_EQ(in_use(first_), before);
  EXPECT_EQ(second_->memory().limit_bytes, 0u);
  EXPECT_EQ(ones.slice({{kCount - 3, kCount}}).to_vector<float>(), std::vector<float>(3, 1));
}

TEST_F(MemoryLimitOnCudaPair, IsAskedWhereACopyFromTheOtherArrives) {
  const Array ones = Array::ones({kCount}, float32, *second_);
  const std::size_t before = in_use(first_);
  first_->set_memory_limit(before + kBytes / 2);
  EXPECT_THAT(error_of([&] { ones.to(*first_); }), HasSubstr("cuda:0: memory limit reached: 64.00 MiB asked for"));
  EXPECT_EQ(in_use(first_), before) << "what failed holds nothing";
  const Array half = ones.slice({{0, kCount / 2}}).to(*first_);
  EXPECT_EQ(in_use(first_), before + kBytes / 2);
  EXPECT_EQ(half.slice({{kCount / 2 - 3, kCount / 2}}).to_vector<float>(), std::vector<float>(3, 1));
}

TEST_F(MemoryLimitOnCudaPair, GivesBackTheCacheOfItsOwnDevice) {
  for (const Device& device : {*first_, *second_}) (void)Array::ones({kCount}, float32, device);
  ASSERT_EQ(first_->memory().cached_bytes, kBytes);
  ASSERT_EQ(second_->memory().cached_bytes, kBytes);
  first_->set_memory_limit(in_use(first_) + kBytes);
  const Array other_size = Array::ones({kCount / 2}, float32, *first_);
  EXPECT_EQ(first_->memory().cached_bytes, 0u);
  EXPECT_EQ(second_->memory().cached_bytes, kBytes);
}

/// Errors, on a device that needs no compiler.
class DeviceMemoryError : public ::testing::Test {
 protected:
  Device device_{"null"};
  DeviceMemory memory_{device_, 100};
};

TEST_F(DeviceMemoryError, ACopyPastTheEndNamesBothSizes) {
  const std::vector<char> host(101);
  EXPECT_EQ(error_of([&] { memory_.copy_from_host(host); }),
            "copy_from_host: 101 bytes go past the end: the device memory has 100 bytes\n"
            "  copy fewer bytes, or make the memory larger");
  std::vector<char> out(60);
  EXPECT_THAT(error_of([&] { (memory_ + 50).copy_to_host(out); }),
              HasSubstr("copy_to_host: 60 bytes go past the end: the device memory has 50 bytes"));
  EXPECT_THAT(error_of([&] { memory_.copy_from(DeviceMemory(device_, 10), 11); }),
              HasSubstr("copy_from, source: 11 bytes go past the end: the device memory has 10 bytes"));
  EXPECT_THAT(error_of([&] { (memory_ + 95).copy_from(memory_, 11); }), HasSubstr("copy_from, destination: 11 bytes"));
  EXPECT_THAT(error_of([&] { memory_.fill(1.0, 13); }), HasSubstr("fill of 13 elements: 104 bytes go past the end"));
  EXPECT_THAT(error_of([&] { memory_ + 101; }), HasSubstr("offset: 101 bytes go past the end"));
}

TEST_F(DeviceMemoryError, AHostRangeThatIsTooSmallNamesBothSizes) {
  std::vector<char> host(60);
  EXPECT_THAT(error_of([&] { memory_.copy_to_host(host, 100); }),
              HasSubstr("copy_to_host: 100 bytes go past the end: the host range has 60 bytes"));
  EXPECT_THAT(error_of([&] { memory_.copy_from_host(host, 61); }), HasSubstr("the host range has 60 bytes"));
}

TEST_F(DeviceMemoryError, RowsThatDoNotFitAreRefused) {
  std::vector<char> host(64);
  EXPECT_THAT(error_of([&] { copy_2d(Rows(memory_, 30), Rows(host, 16), 16, 4); }),
              HasSubstr("copy_2d, destination of 4 rows of 16 bytes goes past the end: at 30 bytes a row the memory of "
                        "100 bytes has room for 3"));
  EXPECT_THAT(error_of([&] { copy_2d(Rows(memory_, 16), Rows(host, 16), 16, 5); }),
              HasSubstr("copy_2d, source of 5 rows"));
  EXPECT_THAT(error_of([&] { copy_2d(Rows(memory_, 10), Rows(host, 16), 16, 2); }),
              HasSubstr("a pitch is at least a row's bytes"));
  EXPECT_THAT(error_of([&] { copy_2d(Rows(host, 16), Rows(host, 16), 16, 2); }),
              HasSubstr("both sides are host memory"));
  EXPECT_THAT(error_of([&] { copy_2d(memory_, Rows(host, 16), 16, 2); }), HasSubstr("has no pitch"));
  EXPECT_THAT(error_of([&] { memory_.fill_2d(1.0f, 6, 1, 3); }), HasSubstr("no multiple of the element's 4"));
  EXPECT_THAT(error_of([&] { memory_.fill_2d(1.0f, 32, 8, 4); }), HasSubstr("has room for 3"));
  EXPECT_THAT(error_of([&] { memory_.fill_2d(1.0f, 32, SIZE_MAX / 2, 4); }),
              HasSubstr("a pitch is at least a row's bytes"));
}

TEST_F(DeviceMemoryError, ASecondFreeNamesTheFirst) {
  memory_.free("program.cpp", 12);
  EXPECT_EQ(error_of([&] { memory_.free(); }),
            "free: this DeviceMemory of 100 bytes on null was freed before, at program.cpp:12\n"
            "  free it once, or leave that to its destructor");
}

TEST_F(DeviceMemoryError, UseAfterFreeNamesTheLine) {
  const DevicePointer place = memory_ + 10;
  memory_.free("program.cpp", 12);
  const std::string freed = "this DeviceMemory of 100 bytes on null was freed at program.cpp:12";
  std::vector<char> host(10);
  EXPECT_THAT(error_of([&] { memory_.copy_from_host(host); }), HasSubstr("copy_from_host: " + freed));
  EXPECT_THAT(error_of([&] { place.copy_to_host(host); }), HasSubstr("copy_to_host: " + freed));
  EXPECT_THAT(error_of([&] { place.data(); }), HasSubstr(freed));
  EXPECT_THAT(error_of([&] { DeviceMemory(device_, 10).copy_from(place, 10); }), HasSubstr("copy_from: " + freed));
  EXPECT_THAT(error_of([&] { memory_.fill(1); }), HasSubstr("fill: " + freed));
  EXPECT_THAT(error_of([&] { memory_.array(float32, {1}); }), HasSubstr("array: " + freed));
}

TEST_F(DeviceMemoryError, EmptyMemoryIsOnNoDevice) {
  const DeviceMemory moved = std::move(memory_);
  std::vector<char> host(10);
  EXPECT_THAT(error_of([&] { memory_.copy_from_host(host); }), HasSubstr("empty, or was moved from"));
  EXPECT_THAT(error_of([&] { memory_.device(); }), HasSubstr("empty, or was moved from"));
  EXPECT_FALSE(memory_);
  EXPECT_EQ(memory_.data(), nullptr);
}

TEST_F(DeviceMemoryError, ANullHostAddressIsRefused) {
  const DeviceMemory memory(device_, 40);
  EXPECT_EQ(error_of([&] { memory.copy_from_host(static_cast<const void*>(nullptr), 40); }),
            "copy_from_host: the host address is null, and 40 bytes are wanted\n  give memory of the host that has them");
  EXPECT_THAT(error_of([&] { memory.copy_to_host(static_cast<void*>(nullptr), 1); }),
              HasSubstr("copy_to_host: the host address is null, and 1 byte is wanted"));
  EXPECT_NO_THROW(memory.copy_from_host(std::vector<int>()));
}

TEST_F(DeviceMemoryError, ACountWhoseBytesHaveNoNumberIsPastTheEnd) {
  const DeviceMemory memory(device_, 40);
  EXPECT_THAT(error_of([&] { memory.fill(1.0f, std::size_t{1} << 62); }),
              HasSubstr("fill of 4611686018427387904 elements: 18446744073709551615 bytes go past the end"));
}

TEST_F(DeviceMemoryError, NegativeAndHugeSizesAreRefused) {
  const std::ptrdiff_t minus_one = -1;
  EXPECT_THAT(error_of([&] { DeviceMemory(device_, static_cast<std::size_t>(minus_one)); }),
              HasSubstr("or -1 if a negative number was meant"));
  EXPECT_THAT(error_of([&] { DeviceMemory::of<double>(device_, static_cast<std::size_t>(minus_one)); }),
              HasSubstr("more than 2^62 bytes, or -1 if a negative number was meant"));
  EXPECT_THAT(error_of([&] { DeviceMemory::of<double>(device_, SIZE_MAX / 8); }), HasSubstr("more than 2^62"));
  EXPECT_THROW(DeviceMemory(device_, std::size_t{1} << 60), OutOfMemoryError);
  EXPECT_THAT(error_of([&] { DeviceMemory::pitched(device_, 100, SIZE_MAX / 64); }), HasSubstr("more than 2^62"));
}

TEST_F(DeviceMemoryError, AStreamOfAnotherDeviceIsRefused) {
  damo::testing::HostBackend other("other");
  std::vector<char> host(10);
  EXPECT_THAT(error_of([&] { memory_.copy_from_host(host, Stream(Device(&other))); }),
              HasSubstr("copy_from_host: the memory is on null, the stream on other"));
}

TEST_F(DeviceMemoryError, AnArrayMustFitAndBeAligned) {
  EXPECT_THAT(error_of([&] { memory_.array(float32, {26}); }),
              HasSubstr("float32 (26,) from byte 0 on goes past the end: the memory has 100 bytes"));
  EXPECT_THAT(error_of([&] { memory_.array(float32, {1}, 101); }), HasSubstr("goes past the end"));
  EXPECT_THAT(error_of([&] { memory_.array(float32, {1}, 2); }),
              HasSubstr("byte 2 of the memory is no place for float32"));
  EXPECT_THAT(error_of([&] { memory_.array(float32, {-1}); }), HasSubstr("the extent of axis 0 is -1"));
  EXPECT_EQ(memory_.array(float32, {5, 5}).size(), 25);
}

TEST_F(DeviceMemoryError, PointersIntoDifferentMemoryHaveNoDistance) {
  EXPECT_THAT(error_of([&] { (void)(memory_ - DeviceMemory(device_, 1)); }),
              HasSubstr("difference of pointers into different memory"));
}

TEST(DeviceMemory, IsLentThroughDlpackAsAnArray) {
  damo::testing::HostBackend backend;
  auto memory = DeviceMemory::of<float>(Device(&backend), 6);
  memory.fill(2.0f);
  DLManagedTensor* const tensor = memory.array(float32, {2, 2}, 8).to_dlpack();
  memory.free();
  EXPECT_EQ(static_cast<float*>(tensor->dl_tensor.data)[3], 2.0f);
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 512u) << "the tensor holds it";
  tensor->deleter(tensor);
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

TEST(DeviceMemory, MayBeDestroyedInAnyOrder) {
  damo::testing::HostBackend backend;
  {
    std::optional<Array> array;
    std::optional<DevicePointer> place;
    {
      DeviceMemory memory(Device(&backend), 256);
      array = memory.array(uint8, {256});
      place = memory + 1;
      DeviceMemory moved = std::move(memory);
    }
    place.reset();
    EXPECT_EQ(backend.pool().statistics().in_use_bytes, 512u);
  }
  EXPECT_EQ(backend.pool().statistics().in_use_bytes, 0u);
}

}  // namespace
}  // namespace damo
