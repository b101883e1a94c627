// prepared_call/DEVICE, checked_call/DEVICE: a kernel of a pointer, a float and an int that does nothing, launched back to
// back by PreparedKernel and by Kernel. driver_call/cuda: the same kernel through cuLaunchKernel, as a plain program calls
// it. The null device's rows are Damo's own share of a call.
// function_direct/DEVICE/N, function_replayed/DEVICE/N: calls of a Function of N small kernels, one after another, kernel by
// kernel and as one graph; /moving: each call has another input.
#include <damo/damo.hpp>

#include "benchmarks.hpp"
#include "runtime/backend.hpp"
#if DAMO_HAS_CUDA
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/module.hpp"
#endif

namespace damo::bench {
namespace {

constexpr const char* kSource =
    "__global__ void damo_scale(float* x, float by, int n) { if (blockIdx.x * 256 + threadIdx.x < n) x[0] = by; }";
const LaunchConfig kConfig{{1}, {256}};

void run_prepared(benchmark::State& state, const Target& target, Effort effort) {
  const auto call = Module(target.device, kSource).kernel("damo_scale").prepare<Array, float, int>();
  const Array x = Array::zeros({256}, float32, target.device);
  report(state, time_calls([&] { call(kConfig, x, 2.0f, 0); }, [&] { target.device.synchronize(); }, effort));
}

void run_checked(benchmark::State& state, const Target& target, Effort effort) {
  const Kernel kernel = Module(target.device, kSource).kernel("damo_scale");
  const Array x = Array::zeros({256}, float32, target.device);
  report(state, time_calls([&] { kernel(kConfig, x, 2.0f, 0); }, [&] { target.device.synchronize(); }, effort));
}

#if DAMO_HAS_CUDA
void run_driver(benchmark::State& state, const Target& target, Effort effort) {
  Backend& backend = target.device.backend();
  const CompiledCode code = backend.compiler().compile(
      {.source = kSource, .kind = SourceKind::kCudaC, .kernels = {"damo_scale"}});
  const std::shared_ptr<const LoadedKernel> kernel = backend.load(code.bytes, "damo_scale")->kernel("damo_scale");
  const CUfunction function = static_cast<const cuda_backend::CudaKernel&>(*kernel).function();
  const auto launch = cuda_backend::driver().launch_kernel;
  const Array x = Array::zeros({256}, float32, target.device);
  void* address = x.data();
  float by = 2;
  int n = 0;
  void* arguments[] = {&address, &by, &n};
  const auto stream = static_cast<CUstream>(backend.default_stream());
  report(state, time_calls(
                    [&] {
                      cuda_backend::check(launch(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr),
                                          "cuLaunchKernel");
                    },
                    [&] { target.device.synchronize(); }, effort));
}
#endif

/// Each adds 1 to 256 elements. Unfused, so that each is a kernel.
Function small_kernels(const Target& target, int count, bool replay) {
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < count; ++i) y = y + 1.0;
  return function({x}, {y}, {.fuse = false, .device = target.device, .replay = replay});
}

void run_function(benchmark::State& state, const Target& target, Effort effort, int count, bool replay, bool moves) {
  Backend& backend = target.device.backend();
  const int least = backend.least_replayed.exchange(replay ? 1 : 0);
  {
    const Function f = small_kernels(target, count, replay);
    std::vector<Array> inputs;
    for (int i = 0; i < 3; ++i) inputs.push_back(Array::zeros({256}, float32, target.device));
    for (int call = 0; call < 10; ++call) f(inputs[0]);
    std::size_t next = 0;
    report(state, time_calls([&] { f(inputs[moves ? next++ % 3 : 0]); }, [&] { target.device.synchronize(); }, effort));
  }
  backend.least_replayed = least;
}

}  // namespace

void add_calls(const std::vector<Target>& targets, Effort effort) {
  std::vector<Target> all = targets;
  all.push_back({"null", Device("null")});
  for (const Target& target : all) {
    add("prepared_call/" + target.name, [=](benchmark::State& state) { run_prepared(state, target, effort); });
    add("checked_call/" + target.name, [=](benchmark::State& state) { run_checked(state, target, effort); });
    for (const int count : {1, 2, 3, 4, 6, 10, 100}) {
      const std::string at = target.name + "/" + std::to_string(count);
      add("function_direct/" + at, [=](benchmark::State& state) { run_function(state, target, effort, count, false, false); });
      add("function_replayed/" + at, [=](benchmark::State& state) { run_function(state, target, effort, count, true, false); });
      if (count == 100) add("function_replayed/" + at + "/moving", [=](benchmark::State& state) { run_function(state, target, effort, count, true, true); });
    }
#if DAMO_HAS_CUDA
    if (target.name == "cuda")
      add("driver_call/cuda", [=](benchmark::State& state) { run_driver(state, target, effort); });
#endif
  }
}

}  // namespace damo::bench
