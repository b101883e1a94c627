// A sum in shared memory: each block adds up its part in ten steps, half of the threads falling idle at each, and a
// second launch adds the sums of the blocks. The amount of shared memory is chosen at the launch (extern __shared__).
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

constexpr const char* source = R"(
  __global__ void block_sums(const float* x, float* sums, int n) {
    extern __shared__ float partial[];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
      if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
      __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
  })";

int main() {
  const Device device;
  const Kernel block_sums = Module(device, source).kernel("block_sums");
  const int n = 1'000'003, blocks = 128, threads = 256;
  std::mt19937 random(4);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> values(n);
  double exact = 0;
  for (float& value : values) exact += value = uniform(random);

  const Array x = Array::from(values, device), sums = Array::empty({blocks}, float32, device);
  std::vector<float> sum(1);
  const std::size_t shared_bytes = threads * sizeof(float);
  block_sums({.grid = {blocks}, .block = {threads}, .shared_bytes = shared_bytes}, x, sums, n);
  block_sums({.grid = {1}, .block = {threads}, .shared_bytes = shared_bytes}, sums, Out(sum), blocks);

  const double error = std::abs(sum[0] - exact) / exact;
  std::cout << n << " values add up to " << sum[0] << "; in float64 to " << exact << ": relative error " << error
            << "\n";
  const bool right = error < 1e-6;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
