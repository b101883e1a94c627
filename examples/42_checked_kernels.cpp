// A kernel with a mistake that a GPU may never show: run it on the CPU with .check = true, and the error names kernel,
// line, block, thread and the array. DAMO_CHECK=1 does the same for a whole program without a change to it.
#include <algorithm>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <string>
#include <vector>
using namespace damo;

/// Averages three neighbours. Its guards are wrong: i may be n - 1, and of the tile only the middle is filled.
const char* const kSource = R"(
__global__ void smooth(float* y, const float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n) y[i] = (x[i - 1] + x[i] + x[i + 1]) / 3;
}
__global__ void smooth_by_tile(float* y, const float* x, int n) {
  __shared__ float tile[66];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x + 1;
  if (i < n) tile[t] = x[i];
  __syncthreads();
  if (i > 0 && i < n - 1) y[i] = (tile[t - 1] + tile[t] + tile[t + 1]) / 3;
}
)";

/// What the launch says of its mistake, if anything.
std::string mistake_of(const Kernel& kernel, const Array& y, const Array& x) {
  try {
    kernel({.grid = {4}, .block = {64}}, y, x, 256);
    return "nothing found";
  } catch (const DeviceError& error) {
    return error.what();
  }
}

int main() {
  // Whatever the program's own device is. Builds without the CPU back end can't check.
  const std::vector<Device> all = devices();
  const auto cpu = std::find_if(all.begin(), all.end(), [](const Device& each) { return each.kind() == DeviceKind::kCpu; });
  if (cpu == all.end()) {
    std::cout << "skipped: this build has no CPU back end\n";
    return 77;
  }
  const Device& device = *cpu;
  const Array x = Array::ones({256}, float32, device), y = Array::zeros({256}, float32, device);
  const Module module(device, kSource, {.check = true, .file_name = "smooth.cu"});

  const std::string outside = mistake_of(module.kernel("smooth"), y, x);
  const std::string unwritten = mistake_of(module.kernel("smooth_by_tile"), y, x);
  std::cout << outside << "\n\n" << unwritten << "\n";

  const bool right = outside.find("out of bounds at smooth.cu:4") != std::string::npos &&
                     outside.find("block (3, 0, 0), thread (63, 0, 0)") != std::string::npos &&
                     outside.find("right past the end of argument 2 (x), 256 of float32") != std::string::npos &&
                     unwritten.find("shared array 'tile'") != std::string::npos;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
