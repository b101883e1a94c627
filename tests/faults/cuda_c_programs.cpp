#include <numeric>
#include <optional>

#include <damo/cuda_c.hpp>
#include <damo/ipc.hpp>

#include "faults/program.hpp"

namespace damo::faults {
namespace {

/// A Module with shared memory, barriers and a variable; its kernels are cut at the barriers.
class SharedMemoryModule : public Program {
 public:
  explicit SharedMemoryModule(ModuleOptions options = {}) : options_(std::move(options)) {}
  void build(Device device) override {
    const Module module(device, R"(
      __constant__ float factor;
      __global__ void block_sum(const float* x, float* sums) {
        __shared__ float part[64];
        const int i = blockIdx.x * 64 + threadIdx.x;
        part[threadIdx.x] = x[i] * factor;
        __syncthreads();
        for (int half = 32; half > 0; half /= 2) {
          if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
          __syncthreads();
        }
        if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
      })", options_);
    module.global("factor").set(2.0f);
    kernel_ = module.kernel("block_sum");
    x_ = Array::full({640}, 1.5, float32, device);
    sums_ = Array::zeros({10}, float32, device);
  }
  void step() override {
    (*kernel_)({.grid = {10}, .block = {64}}, x_, sums_);
    require_array<float>("sums of blocks", sums_, 10, [](std::size_t) { return 64 * 3.0; });
    std::vector<float> out(10);
    (*kernel_)({.grid = {10}, .block = {64}}, In(std::vector<float>(640, 1.0f)), Out(out));
    require_values<float>("sums of a host's values", out, 10, [](std::size_t) { return 128.0; });
  }

 private:
  ModuleOptions options_;
  std::optional<Kernel> kernel_;
  Array x_, sums_;
};

class CheckedModule final : public SharedMemoryModule {
 public:
  CheckedModule() : SharedMemoryModule({.check = true}) {}
};

/// Threads that wait in a function which calls itself, as fibers, and in ways that cannot be cut, as coroutines.
class WaitingThreads : public Program {
 public:
  void build(Device device) override {
    const Module module(device, R"(
      __device__ __noinline__ int deep(int* shared, int level) {
        if (level == 0) return shared[threadIdx.x];
        __syncthreads();
        return deep(shared, level - 1) + 1;
      }
      __global__ void recursive(int* out) {
        __shared__ int values[32];
        values[threadIdx.x] = threadIdx.x;
        out[threadIdx.x] = deep(values, 5);
      }
      __global__ void divergent(int* out) {
        int value = threadIdx.x;
        if (threadIdx.x < 16) {
          for (int i = 0; i < 2; ++i) value += __shfl_xor_sync(0xffff, value, 1);
        }
        out[threadIdx.x] = value;
      })");
    recursive_ = module.kernel("recursive");
    divergent_ = module.kernel("divergent");
    out_ = Array::zeros({32}, int32, device);
  }
  void step() override {
    (*recursive_)({.grid = {1}, .block = {32}}, out_);
    require_array<std::int32_t>("recursion", out_, 32, [](std::size_t i) { return static_cast<double>(i) + 5; });
    (*divergent_)({.grid = {1}, .block = {32}}, out_);
    require_array<std::int32_t>("shuffles", out_, 32, [](std::size_t i) { return i < 16 ? 2.0 * static_cast<double>(i + (i ^ 1)) : static_cast<double>(i); });
  }

 private:
  std::optional<Kernel> recursive_, divergent_;
  Array out_;
};

class CapturedWorkReplayed : public Program {
 public:
  void build(Device device) override {
    const Module module(device, "__global__ void add(float* x, const float* y) { x[threadIdx.x] += y[threadIdx.x]; }");
    add_ = module.kernel("add");
    stream_.emplace(device);
    memory_ = DeviceMemory::of<float>(device, 32);
    y_ = Array::ones({32}, float32, device);
  }
  void step() override {
    const CapturedGraph graph = capture(*stream_, [&] {
      memory_.fill(1.0f, 32, *stream_);
      const Array temporary = y_;
      for (int i = 0; i < 3; ++i) (*add_)({.grid = {1}, .block = {32}, .stream = *stream_}, memory_, temporary);
    });
    graph.keep(y_);
    for (int i = 0; i < 2; ++i) graph.launch(*stream_);
    stream_->synchronize();
    const std::vector<float> values = memory_.to_vector<float>();
    require_values<float>("three additions", values, 32, [](std::size_t) { return 4.0; });
  }

 private:
  std::optional<Kernel> add_;
  std::optional<Stream> stream_;
  DeviceMemory memory_;
  Array y_;
};

class PinnedMemoryAndEvents : public Program {
 public:
  void build(Device device) override { device_ = device; }
  void step() override {
    const PinnedMemory in(4000, *device_), out(4000, *device_);
    std::vector<float> registered(1000);
    const RegisteredMemory pages(registered, *device_);
    const std::span<float> values = in.as<float>();
    std::iota(values.begin(), values.end(), 0.0f);
    const Stream first(*device_), second(*device_);
    const Event copied(*device_);
    int calls = 0;
    const Array array = Array::empty({1000}, float32, *device_);
    const DevicePointer memory(array);
    memory.copy_from_host(values, first);
    copied.record(first);
    second.wait(copied);
    memory.copy_to_host(out.as<float>(), second);
    memory.copy_to_host(registered, second);
    second.add_callback([&] { ++calls; });
    second.synchronize();
    require_values<float>("copied there and back", std::span<const float>(out.as<float>()), 1000, [](std::size_t i) { return static_cast<double>(i); });
    require_values<float>("copied to registered memory", std::span<const float>(registered), 1000, [](std::size_t i) { return static_cast<double>(i); });
    if (calls != 1) throw Wrong{"callbacks", static_cast<double>(calls), 1};
  }

 private:
  std::optional<Device> device_;
};

/// Memory for another process, opened in this one.
class MemoryOfAnotherProcess : public Program {
 public:
  void build(Device device) override { device_ = device; }
  void step() override {
    DeviceMemory mine = DeviceMemory::shareable(*device_, 4096);
    mine.fill(7);
    const std::string text = mine.offset(1024).ipc_handle().text();
    DeviceMemory theirs = DeviceMemory::open(*device_, IpcHandle::parse(text));
    mine.fill(9);
    const std::vector<int> values = theirs.to_vector<int>();
    require_values<int>("shared values", values, 768, [](std::size_t) { return 9.0; });
    theirs.free();
  }

 private:
  std::optional<Device> device_;
};

}  // namespace

std::vector<ProgramEntry> cuda_c_programs() {
  return {entry<SharedMemoryModule>("SharedMemoryModule"),       entry<CheckedModule>("CheckedModule"),
          entry<WaitingThreads>("WaitingThreads"),               entry<CapturedWorkReplayed>("CapturedWorkReplayed"),
          entry<PinnedMemoryAndEvents>("PinnedMemoryAndEvents"), entry<MemoryOfAnotherProcess>("MemoryOfAnotherProcess"),
          entry<SharedMemoryModule>("ColdModule", true)};
}

}  // namespace damo::faults
