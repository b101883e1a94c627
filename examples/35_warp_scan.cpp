// Running sums with warp shuffles: the 32 threads of a warp pass their values to each other without memory. A warp
// scans its 32 values in five steps, the block's first warp scans the sums of the warps, and blocks after the first add
// the sums of the blocks before them in a second launch.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <numeric>
#include <vector>
using namespace damo;

constexpr const char* source = R"(
  __device__ int scan_warp(int value) {
    const int lane = threadIdx.x % 32;
    for (int distance = 1; distance < 32; distance *= 2) {
      const int before = __shfl_up_sync(0xffffffff, value, distance);
      if (lane >= distance) value += before;
    }
    return value;
  }

  __global__ void scan_blocks(int* x, int* block_sums, int n) {
    __shared__ int warp_sums[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int value = scan_warp(i < n ? x[i] : 0);
    if (lane == 31) warp_sums[warp] = value;
    __syncthreads();
    if (warp == 0) warp_sums[lane] = scan_warp(lane < blockDim.x / 32 ? warp_sums[lane] : 0);
    __syncthreads();
    if (warp > 0) value += warp_sums[warp - 1];
    if (i < n) x[i] = value;
    if (threadIdx.x == blockDim.x - 1) block_sums[blockIdx.x] = value;
  }

  __global__ void add_sums_before(int* x, const int* block_sums, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && blockIdx.x > 0) x[i] += block_sums[blockIdx.x - 1];
  })";

int main() {
  const Device device;
  const Module module(device, source);
  const int n = 50'000, threads = 256, blocks = (n + threads - 1) / threads;
  std::vector<int> values(n);
  for (int i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = (i * 7919) % 201 - 100;

  const Array x = Array::from(values, device), sums = Array::empty({blocks}, int32, device);
  const Array total = Array::empty({1}, int32, device);
  module.kernel("scan_blocks")({.grid = {blocks}, .block = {threads}}, x, sums, n);
  module.kernel("scan_blocks")({.grid = {1}, .block = {threads}}, sums, total, blocks);  // at most 256 blocks
  module.kernel("add_sums_before")({.grid = {blocks}, .block = {threads}}, x, sums, n);

  std::vector<int> expected(values.size());
  std::inclusive_scan(values.begin(), values.end(), expected.begin());
  bool right = x.to_vector<int>() == expected && total.to_vector<int>()[0] == expected.back();
  std::cout << "running sums of " << n << " numbers; the last is " << expected.back() << "\n";
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
