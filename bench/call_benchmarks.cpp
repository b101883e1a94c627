// prepared_call/DEVICE, checked_call/DEVICE: a kernel of a pointer, a float and an int that does nothing, launched back to
// back by PreparedKernel and by Kernel. driver_call/cuda: the same kernel through cuLaunchKernel, as a plain program calls
// it. The null device's rows are Damo's own share of a call.
#include <damo/module.hpp>

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

}  // namespace

void add_calls(const std::vector<Target>& targets, Effort effort) {
  std::vector<Target> all = targets;
  all.push_back({"null", Device("null")});
  for (const Target& target : all) {
    add("prepared_call/" + target.name, [=](benchmark::State& state) { run_prepared(state, target, effort); });
    add("checked_call/" + target.name, [=](benchmark::State& state) { run_checked(state, target, effort); });
#if DAMO_HAS_CUDA
    if (target.name == "cuda")
      add("driver_call/cuda", [=](benchmark::State& state) { run_driver(state, target, effort); });
#endif
  }
}

}  // namespace damo::bench
