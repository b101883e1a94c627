// launch/DEVICE: what the back end takes to launch a kernel of one pointer that does nothing, back to back: the least a
// call of a function can cost. launch_driver/cuda: the same through the driver's own function.
#include "benchmarks.hpp"
#include "runtime/backend.hpp"
#if DAMO_HAS_CUDA
#include "runtime/cuda/driver.hpp"
#include "runtime/cuda/module.hpp"
#endif

namespace damo::bench {
namespace {

constexpr const char* kNothingSource = "extern \"C\" __global__ void damo_nothing(float* p) { if (!p) p[0] = 0; }";
constexpr const char* kName = "damo_nothing";

std::shared_ptr<const LoadedKernel> load_nothing(Backend& backend) {
  CompileRequest request;
  request.source = kNothingSource;
  request.kind = SourceKind::kCudaC;
  request.kernels = {kName};
  const CompiledCode code = backend.compiler().compile(request);
  return backend.load(code.bytes, kName)->kernel(kName);
}

void run(benchmark::State& state, const Target& target, Effort effort) {
  Backend& backend = target.device.backend();
  const std::shared_ptr<const LoadedKernel> kernel = load_nothing(backend);
  const Array array = Array::zeros({256}, float32, target.device);
  void* const address = array.data();
  void* const arguments[] = {const_cast<void**>(&address)};
  const LaunchConfig config{{1}, {256}};
  void* const stream = backend.default_stream();
  report(state, time_calls([&] { backend.launch(*kernel, config, arguments, stream); },
                           [&] { target.device.synchronize(); }, effort));
}

#if DAMO_HAS_CUDA
void run_driver_launch(benchmark::State& state, const Target& target, Effort effort) {
  Backend& backend = target.device.backend();
  const std::shared_ptr<const LoadedKernel> kernel = load_nothing(backend);
  const CUfunction function = static_cast<const cuda_backend::CudaKernel&>(*kernel).function();
  const cuda_backend::Driver& driver = cuda_backend::driver();
  const Array array = Array::zeros({256}, float32, target.device);
  void* address = array.data();
  void* arguments[] = {&address};
  const auto stream = static_cast<CUstream>(backend.default_stream());
  const auto launch = [&] {
    cuda_backend::check(driver.launch_kernel(function, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr),
                        "cuLaunchKernel");
  };
  report(state, time_calls(
                    launch, [&] { target.device.synchronize(); }, effort));
}
#endif

}  // namespace

void add_launches(const std::vector<Target>& targets, Effort effort) {
  for (const Target& target : targets) {
    add("launch/" + target.name, [=](benchmark::State& state) { run(state, target, effort); });
#if DAMO_HAS_CUDA
    if (target.name == "cuda")
      add("launch_driver/cuda", [=](benchmark::State& state) { run_driver_launch(state, target, effort); });
#endif
  }
}

}  // namespace damo::bench
