// A histogram with atomics: the threads of a block count into shared memory, where they seldom meet, and add the
// block's counts to the result at the end. Counts how strong the ink of the handwritten digits is, from 0 to 16.
#include <algorithm>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>

#include "support/digits.hpp"
using namespace damo;

constexpr const char* source = R"(
  __global__ void histogram(const unsigned char* x, int n, unsigned* counts) {
    __shared__ unsigned block_counts[BINS];
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) block_counts[bin] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
      atomicAdd(&block_counts[x[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < BINS; bin += blockDim.x) atomicAdd(&counts[bin], block_counts[bin]);
  })";

int main() {
  const examples::Digits digits = examples::load_digits();
  std::vector<unsigned char> ink(digits.images.size());
  std::transform(digits.images.begin(), digits.images.end(), ink.begin(),
                 [](float pixel) { return static_cast<unsigned char>(pixel * 16); });

  constexpr int bins = 17;
  const Module module(Device(), source, {.defines = {{"BINS", std::to_string(bins)}}});
  std::vector<unsigned> counts(bins, 0);
  module.kernel("histogram")({.grid = {32}, .block = {128}}, In(ink), static_cast<int>(ink.size()), InOut(counts));

  bool right = true;
  const unsigned most = *std::max_element(counts.begin() + 1, counts.end());
  for (std::size_t bin = 0; bin < bins; ++bin) {
    right &= counts[bin] == std::count(ink.begin(), ink.end(), bin);
    std::cout << (bin < 10 ? " " : "") << bin << " " << std::string(std::min(60u, counts[bin] * 40 / most), '#') << " "
              << counts[bin] << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
