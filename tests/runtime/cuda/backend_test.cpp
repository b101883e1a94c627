#include "runtime/cuda/backend.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <thread>

#include <damo/error.hpp>

#include "on_cuda.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr const char* kSpin = R"(extern "C" __global__ void spin(int* x, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  x[0] += 1;
})";

class CudaBackendOnCuda : public OnCudaTest {};

TEST_F(CudaBackendOnCuda, TellsItsProperties) {
  const DeviceProperties properties = backend_->properties();
  EXPECT_FALSE(properties.description.empty());
  EXPECT_THAT(properties.architecture, ::testing::StartsWith("sm_"));
  EXPECT_GT(properties.memory_bytes, std::size_t{1} << 30);
  EXPECT_LE(properties.free_memory_bytes, properties.memory_bytes);
  EXPECT_EQ(properties.max_threads_per_block, 1024);
  EXPECT_EQ(properties.max_block[2], 64);
  EXPECT_EQ(properties.max_grid[0], 2147483647);
  EXPECT_GE(properties.max_shared_bytes, 48u * 1024);
  EXPECT_FALSE(driver_version().empty());
}

TEST_F(CudaBackendOnCuda, AllocatesAlignedMemoryAndGivesNullWhereThereIsNoneLeft) {
  void* memory = backend_->allocate(3);
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 256, 0u);
  backend_->release(memory);
  EXPECT_EQ(backend_->allocate(std::size_t{1} << 50), nullptr);
  backend_->synchronize();  // the refusal leaves no error behind
}

TEST_F(CudaBackendOnCuda, CopiesPageableAndPinnedMemoryBothWays) {
  std::vector<int> values(1 << 20);
  std::iota(values.begin(), values.end(), 7);
  int* first = upload(values);
  auto* second = static_cast<int*>(backend_->allocate(values.size() * sizeof(int)));
  backend_->copy(second, first, values.size() * sizeof(int), CopyKind::kDeviceToDevice, nullptr);
  EXPECT_EQ(download(second, values.size()), values);
  auto* pinned = static_cast<int*>(backend_->allocate_pinned(values.size() * sizeof(int)));
  backend_->copy(pinned, second, values.size() * sizeof(int), CopyKind::kDeviceToHost, nullptr);
  backend_->synchronize(nullptr);
  EXPECT_TRUE(std::equal(values.begin(), values.end(), pinned));
  backend_->release_pinned(pinned);
  backend_->release(first);
  backend_->release(second);
}

TEST_F(CudaBackendOnCuda, HasReadPageableMemoryWhenACopyReturns) {
  const auto kernel = load(kSpin)->kernel("spin");
  for (const std::size_t count : {std::size_t{16}, std::size_t{1} << 22}) {
    int* busy = upload<int>({0});
    void* device = backend_->allocate(count * sizeof(int));
    std::vector<int> values(count, 5);
    long long cycles = 20'000'000;  // some 10 ms
    void* arguments[] = {&busy, &cycles};
    backend_->launch(*kernel, {}, arguments, nullptr);
    backend_->copy(device, values.data(), count * sizeof(int), CopyKind::kHostToDevice, nullptr);
    std::fill(values.begin(), values.end(), -1);
    EXPECT_THAT(download(static_cast<int*>(device), count), Each(5)) << count;
    backend_->release(device);
    backend_->release(busy);
  }
}

template <class T>
class CudaFillOnCuda : public OnCudaTest {};
using Elements = ::testing::Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(CudaFillOnCuda, Elements);

TYPED_TEST(CudaFillOnCuda, RepeatsTheElementAndNothingMore) {
  const auto element = static_cast<TypeParam>(0x0123456789abcdefULL);
  for (const std::size_t count : {std::size_t{1}, std::size_t{4095}, std::size_t{4097}, std::size_t{1000003}}) {
    TypeParam* memory = this->upload(std::vector<TypeParam>(count + 2, TypeParam{1}));
    this->backend_->fill(memory + 1, &element, sizeof element, count, nullptr);
    const auto values = this->download(memory, count + 2);
    EXPECT_EQ(values.front(), TypeParam{1});
    EXPECT_EQ(values.back(), TypeParam{1});
    EXPECT_EQ(std::count(values.begin(), values.end(), element), static_cast<std::ptrdiff_t>(count)) << count;
    this->backend_->release(memory);
  }
}

TEST_F(CudaBackendOnCuda, FillsAnElementOfTwoEqualWords) {
  std::uint64_t* memory = upload(std::vector<std::uint64_t>(5000, 1));
  const std::uint64_t minus_one = ~std::uint64_t{0};
  backend_->fill(memory, &minus_one, 8, 5000, nullptr);
  EXPECT_THAT(download(memory, 5000), Each(minus_one));
  backend_->release(memory);
}

TEST_F(CudaBackendOnCuda, OrdersTwoStreamsByAnEvent) {
  const auto kernel = load(kSpin)->kernel("spin");
  int* x = upload<int>({41});
  backend_->synchronize(nullptr);
  void* stream = backend_->create_stream();
  void* other = backend_->create_stream();
  void* event = backend_->create_event();
  long long cycles = 20'000'000;
  void* arguments[] = {&x, &cycles};
  backend_->launch(*kernel, {}, arguments, stream);
  backend_->record(event, stream);
  EXPECT_FALSE(backend_->is_done(event));
  backend_->wait(other, event);
  auto* seen = static_cast<int*>(backend_->allocate_pinned(sizeof(int)));
  backend_->copy(seen, x, sizeof(int), CopyKind::kDeviceToHost, other);
  backend_->synchronize(other);
  EXPECT_EQ(*seen, 42);
  EXPECT_TRUE(backend_->is_done(event));
  backend_->destroy_event(event);
  backend_->destroy_stream(stream);
  backend_->destroy_stream(other);
  backend_->release_pinned(seen);
  backend_->release(x);
}

TEST_F(CudaBackendOnCuda, MeasuresTimeBetweenEvents) {
  const auto kernel = load(kSpin)->kernel("spin");
  int* x = upload<int>({0});
  void* start = backend_->create_event();
  void* stop = backend_->create_event();
  EXPECT_THROW(backend_->milliseconds(start, stop), DeviceError) << "neither was recorded";
  long long cycles = 20'000'000;
  void* arguments[] = {&x, &cycles};
  backend_->record(start, nullptr);
  backend_->launch(*kernel, {}, arguments, nullptr);
  backend_->record(stop, nullptr);
  EXPECT_THROW(backend_->milliseconds(start, stop), DeviceError) << "the kernel still runs";
  backend_->synchronize_event(stop);
  EXPECT_GT(backend_->milliseconds(start, stop), 5.0);
  EXPECT_LT(backend_->milliseconds(start, stop), 100.0);
  backend_->destroy_event(start);
  backend_->destroy_event(stop);
  backend_->release(x);
}

TEST_F(CudaBackendOnCuda, WorksInThreadsThatNeverSawTheContext) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      int* memory = upload(std::vector<int>(1000, i));
      EXPECT_THAT(download(memory, 1000), Each(i));
      backend_->release(memory);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(CudaBackendOnCuda, TakesItsContextBackFromAnotherLibrary) {
  ASSERT_EQ(driver().ctx_set_current(nullptr), CUDA_SUCCESS);
  void* memory = backend_->allocate(16);
  EXPECT_NE(memory, nullptr);
  ASSERT_EQ(driver().ctx_set_current(nullptr), CUDA_SUCCESS);
  backend_->release(memory);
}

TEST_F(CudaBackendOnCuda, CopiesBetweenTwoGpus) {
  if (cuda_device_count() < 2) GTEST_SKIP() << "needs two GPUs";
  Backend& second = shared(1);
  std::vector<int> values(100000);
  std::iota(values.begin(), values.end(), 3);
  int* from = upload(values);
  backend_->synchronize();
  void* to = second.allocate(values.size() * sizeof(int));
  second.copy_peer(to, *backend_, from, values.size() * sizeof(int), nullptr);
  std::vector<int> got(values.size());
  second.copy(got.data(), to, got.size() * sizeof(int), CopyKind::kDeviceToHost, nullptr);
  second.synchronize();
  EXPECT_EQ(got, values);
  second.release(to);
  backend_->release(from);
}

TEST_F(CudaBackendOnCuda, RefusesAGpuThatIsNotThere) {
  try {
    make_cuda_backend(99);
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("cuda:99"));
    EXPECT_THAT(error.what(), HasSubstr("CUDA_VISIBLE_DEVICES"));
  }
}

}  // namespace
}  // namespace damo::cuda_backend
