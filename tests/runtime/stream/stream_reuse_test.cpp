// Memory that is used again while another stream still works on it: results of the executor, blocks of the pool, sources
// of copies between devices.
#include <damo/stream.hpp>

#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/captured_graph.hpp>
#include <damo/cuda_c.hpp>
#include <damo/error.hpp>
#include <damo/event.hpp>
#include <damo/memory.hpp>

#include "runtime/exec/executor.hpp"
#include "support/late_backend.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::AddOneOp;
using damo::testing::CallbackOp;
using damo::testing::LateBackend;
using ::testing::Each;
using ::testing::ElementsAre;
using Floats = std::vector<float>;

/// f(x) = x + 1 on the host's memory, at once: what a default stream's kernel is to other streams.
class StreamReuse : public ::testing::Test {
 protected:
  static Variable plus_one(const Variable& x, bool sized_by_data) {
    const auto op = make_op<CallbackOp>("plus_one", [](Cell& in, Cell& out) {
      out.resize(in.shape());
      for (std::int64_t i = 0; i < in.size(); ++i) out.data<float>()[i] = in.data<float>()[i] + 1;
    }, sized_by_data);
    return op(x);
  }
  std::unique_ptr<Executor> executor(bool sized_by_data = false) {
    const Variable x = vector("x");
    return std::make_unique<Executor>(FunctionGraph(std::vector{x}, std::vector{plus_one(x, sized_by_data)}), device_, false);
  }
  Array input(float value) const { return Array::from(Floats(4, value), device_); }

  LateBackend backend_{"late"};
  const Device device_{&backend_};
};

TEST_F(StreamReuse, AResultThatWasDroppedIsNotWrittenWhileACopyOfAnotherStreamReadsIt) {
  for (const bool sized_by_data : {false, true}) {
    const auto f = executor(sized_by_data);
    const Stream stream(device_);
    Floats seen(4);
    const Array first = input(1), second = input(10);
    DevicePointer(f->call(std::vector{first})[0]).copy_to_host(seen, stream);
    f->call(std::vector{second});
    stream.synchronize();
    EXPECT_THAT(seen, Each(2)) << sized_by_data;
  }
}

TEST_F(StreamReuse, AResultThatWasDroppedIsNotWrittenWhileAKernelOfAnotherStreamReadsIt) {
  const auto f = executor();
  const Stream stream(device_);
  void* const handle = detail::stream_handle(stream);
  float seen = 0;
  float* const to = &seen;
  class Nothing final : public LoadedKernel {
  } kernel;
  Array result = f->call(std::vector{input(1)})[0];
  const void* const from = result.data();
  const void* arguments[] = {&from, &to};
  backend_.launch(kernel, {}, const_cast<void* const*>(arguments), handle);
  result = Array();
  f->call(std::vector{input(10)});
  stream.synchronize();
  EXPECT_EQ(seen, 2);
}

TEST_F(StreamReuse, AStreamWhoseHandleAnotherLibraryHasIsWaitedForEachTime) {
  const auto f = executor();
  const Stream stream(device_);
  for (int round = 0; round < 2; ++round) {
    float seen = 0;
    const auto* const from = static_cast<const float*>(f->call(std::vector{input(1)})[0].data());
    backend_.give(stream.handle(), [&seen, from] { seen = *from; });
    f->call(std::vector{input(10)});
    EXPECT_EQ(seen, 2) << round;
  }
}

TEST_F(StreamReuse, ACopyOfOtherMemoryIsNotWaitedFor) {
  const auto f = executor();
  const Stream copies(device_);
  const DeviceMemory next = DeviceMemory::of<float>(device_, 4);
  const Floats values = {1, 2, 3, 4};
  f->call(std::vector{input(1)});
  next.copy_from_host(values, copies);
  f->call(std::vector{input(2)});
  EXPECT_FALSE(backend_.is_idle(detail::stream_handle(copies))) << "the upload goes on beside the call";
  copies.synchronize();
  EXPECT_THAT(next.to_vector<float>(), ElementsAre(1, 2, 3, 4));
}

TEST_F(StreamReuse, ABlockOfThePoolIsReusedAfterTheCopyThatUsesIt) {
  const Stream stream(device_);
  Floats seen(4);
  auto memory = DeviceMemory::from(device_, Floats(4, 1));
  const void* const address = memory.data();
  memory.copy_to_host(seen, stream);
  memory.free();
  const auto again = DeviceMemory::from(device_, Floats(4, 2));
  ASSERT_EQ(again.data(), address);
  stream.synchronize();
  EXPECT_THAT(seen, Each(1));
}

TEST_F(StreamReuse, PoisonIsWrittenBeforeOtherStreamsMayUseTheMemory) {
  backend_.pool().set_poison(true);
  DeviceMemory(device_, 64);
  backend_.events.clear();
  DeviceMemory(device_, 64);  // from the cache
  EXPECT_THAT(backend_.events, ElementsAre("fill", "fork"));
  backend_.events.clear();
  DeviceMemory(device_, 1 << 20);  // new
  EXPECT_THAT(backend_.events, ElementsAre("fill", "fork"));
}

TEST(StreamReuseBetweenDevices, TheSourceOfACopyIsNotWrittenWhileItIsRead) {
  LateBackend here("cuda:0", DeviceKind::kCuda), there("cuda:1", DeviceKind::kCuda);
  const Stream stream{Device(&here)};
  auto source = DeviceMemory::from(Device(&there), Floats(4, 1));
  const void* const address = source.data();
  const DeviceMemory target = DeviceMemory::of<float>(Device(&here), 4);
  target.copy_from(source, 16, stream);
  source.free();
  const auto again = DeviceMemory::from(Device(&there), Floats(4, 2));
  ASSERT_EQ(again.data(), address);
  stream.synchronize();
  EXPECT_THAT(target.to_vector<float>(), Each(1));
}

// On a GPU: kernels that read long after they were launched.

constexpr const char* kLate = R"(__global__ void late(const float* x, float* y, int n, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
})";
constexpr int kCount = 1 << 16;
constexpr long long kCycles = 20'000'000;

class StreamReuseOnCuda : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      gpu_.emplace("cuda:0");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs a GPU: " << error.what();
    }
    const Variable x = vector("x");
    f_ = std::make_unique<Executor>(FunctionGraph(std::vector{x}, std::vector<Variable>{make_op<AddOneOp>()(x)}), *gpu_, false);
    late_ = Module(*gpu_, kLate).kernel("late");
    target_ = Array::zeros({kCount}, float32, *gpu_);
    one_ = Array::full({kCount}, 1.0, float32, *gpu_);
    ten_ = Array::full({kCount}, 10.0, float32, *gpu_);
    call(ten_);  // compiles
    gpu_->synchronize();
  }
  Array call(const Array& x) { return f_->call(std::vector{x})[0]; }
  /// The stream's later work comes after all that the default stream has now.
  void order(const Stream& stream) const {
    const Event now(*gpu_);
    now.record(Stream::default_of(*gpu_));
    stream.wait(now);
  }
  void expect_twos(const Stream& stream) {
    call(ten_);
    stream.synchronize();
    EXPECT_THAT(target_.to_vector<float>(), Each(2));
  }

  std::optional<Device> gpu_;
  std::unique_ptr<Executor> f_;
  Kernel late_;
  Array target_, one_, ten_;
};

TEST_F(StreamReuseOnCuda, AResultThatAKernelReadsIsNotOverwritten) {
  for (const bool non_blocking : {false, true}) {
    const Stream stream(*gpu_, {.non_blocking = non_blocking});
    Array result = call(one_);
    order(stream);
    late_({.grid = {kCount / 256}, .block = {256}, .stream = stream}, result, target_, kCount, kCycles);
    result = Array();
    expect_twos(stream);
  }
}

TEST_F(StreamReuseOnCuda, AResultThatAPreparedKernelReadsByItsAddressIsNotOverwritten) {
  const Stream stream(*gpu_);
  const auto prepared = late_.prepare<const float*, Array, int, long long>();
  Array result = call(one_);
  order(stream);
  prepared({.grid = {kCount / 256}, .block = {256}, .stream = stream}, static_cast<const float*>(result.data()), target_, kCount, kCycles);
  result = Array();
  expect_twos(stream);
}

TEST_F(StreamReuseOnCuda, AResultThatAGraphReadsIsNotOverwritten) {
  const Stream stream(*gpu_);
  Array result = call(one_);
  order(stream);
  const void* const address = result.data();
  {
    const CapturedGraph graph = capture(stream, [&] {
      late_({.grid = {kCount / 256}, .block = {256}, .stream = stream}, static_cast<const float*>(address), target_, kCount, kCycles);
    });
    graph.launch(stream);
  }
  result = Array();
  expect_twos(stream);
}

TEST_F(StreamReuseOnCuda, AResultThatACopyReadsIsNotOverwritten) {
  const Stream stream(*gpu_);
  const Array slow = Array::zeros({kCount}, float32, *gpu_);
  Array result = call(one_);
  order(stream);
  late_({.grid = {kCount / 256}, .block = {256}, .stream = stream}, slow, slow, kCount, kCycles);  // the copy comes late
  DevicePointer(target_).copy_from(DevicePointer(result), kCount * sizeof(float), stream);
  result = Array();
  expect_twos(stream);
}

class StreamReuseOnCudaPair : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      first_.emplace("cuda:0");
      second_.emplace("cuda:1");
    } catch (const DeviceError& error) {
      GTEST_SKIP() << "needs two GPUs: " << error.what();
    }
  }
  std::optional<Device> first_, second_;
};

TEST_F(StreamReuseOnCudaPair, TheSourceOfACopyWithAStreamIsNotWrittenWhileItIsRead) {
  const Stream stream(*first_);
  const Kernel late = Module(*first_, kLate).kernel("late");
  const Array slow = Array::zeros({kCount}, float32, *first_);
  const DeviceMemory target = DeviceMemory::of<float>(*first_, kCount);
  for (int round = 0; round < 3; ++round) {
    auto source = DeviceMemory::from(*second_, Floats(kCount, 1));
    const void* const address = source.data();
    first_->synchronize();
    late({.grid = {kCount / 256}, .block = {256}, .stream = stream}, slow, slow, kCount, kCycles);
    target.copy_from(source, kCount * sizeof(float), stream);
    source.free();
    auto again = DeviceMemory::of<float>(*second_, kCount);
    EXPECT_EQ(again.data(), address) << "the pool hands out the same block";
    again.fill(2.0f);
    stream.synchronize();
    EXPECT_THAT(target.to_vector<float>(), Each(1)) << round;
  }
}

TEST_F(StreamReuseOnCudaPair, TheTargetOfACopyWithAStreamIsNotReusedWhileItIsWritten) {
  const Stream stream(*first_);
  const Kernel late = Module(*first_, kLate).kernel("late");
  const Array slow = Array::zeros({kCount}, float32, *first_);
  const DeviceMemory source = DeviceMemory::from(*second_, Floats(kCount, 1));
  auto target = DeviceMemory::of<float>(*first_, kCount);
  const void* const address = target.data();
  late({.grid = {kCount / 256}, .block = {256}, .stream = stream}, slow, slow, kCount, kCycles);
  target.copy_from(source, kCount * sizeof(float), stream);
  target.free();
  auto again = DeviceMemory::of<float>(*first_, kCount);
  EXPECT_EQ(again.data(), address);
  again.fill(2.0f);
  first_->synchronize();
  EXPECT_THAT(again.to_vector<float>(), Each(2));
}

TEST_F(StreamReuseOnCudaPair, RowsGoBetweenDevicesInTheStreamsOrder) {
  const Stream stream(*first_);
  const Kernel late = Module(*first_, kLate).kernel("late");
  const Array ones = Array::ones({kCount}, float32, *first_);
  const DeviceMemory source = DeviceMemory::from(*second_, Floats(kCount, 3)), target = DeviceMemory::of<float>(*first_, kCount);
  first_->synchronize();
  late({.grid = {kCount / 256}, .block = {256}, .stream = stream}, ones, target, kCount, kCycles);
  copy_2d(Rows(target, 256 * sizeof(float)), Rows(source, 256 * sizeof(float)), 256 * sizeof(float), kCount / 256, stream);
  stream.synchronize();
  EXPECT_THAT(target.to_vector<float>(), Each(3)) << "the kernel that the stream had before comes first";
}

TEST_F(StreamReuseOnCudaPair, ACapturedCopyKeepsItsSourceWhileItRuns) {
  const Stream stream(*first_);
  const DeviceMemory target = DeviceMemory::of<float>(*first_, kCount);
  auto source = DeviceMemory::from(*second_, Floats(kCount, 1));
  {
    const CapturedGraph graph = capture(stream, [&] { target.copy_from(source, kCount * sizeof(float), stream); });
    source.free();
    graph.launch(stream);
  }
  DeviceMemory::of<float>(*second_, kCount).fill(2.0f);
  stream.synchronize();
  EXPECT_THAT(target.to_vector<float>(), Each(1));
}

}  // namespace
}  // namespace damo
