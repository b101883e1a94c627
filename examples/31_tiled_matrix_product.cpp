// The matrix product in tiles of shared memory: each block makes 16 x 16 elements of the result; its threads load a
// tile of either matrix together, wait for each other, and multiply from there, so that each element is read from
// memory once for 16 products. Extents need not be multiples of 16.
#include <algorithm>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

constexpr const char* source = R"(
  __global__ void multiply(const float* a, const float* b, float* c, int rows, int inner, int columns) {
    __shared__ float a_tile[TILE][TILE], b_tile[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
    float sum = 0;
    for (int first = 0; first < inner; first += TILE) {
      const int k_a = first + threadIdx.x, k_b = first + threadIdx.y;
      a_tile[threadIdx.y][threadIdx.x] = row < rows && k_a < inner ? a[row * inner + k_a] : 0;
      b_tile[threadIdx.y][threadIdx.x] = k_b < inner && column < columns ? b[k_b * columns + column] : 0;
      __syncthreads();  // the tiles are full
      for (int k = 0; k < TILE; ++k) sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
      __syncthreads();  // nobody reads them any more
    }
    if (row < rows && column < columns) c[row * columns + column] = sum;
  })";

int main() {
  const int rows = 130, inner = 200, columns = 95, tile = 16;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(rows * inner), b(inner * columns), c(rows * columns);
  for (float& value : a) value = uniform(random);
  for (float& value : b) value = uniform(random);

  const Module module(Device(), source, {.defines = {{"TILE", std::to_string(tile)}}});
  const Kernel multiply = module.kernel("multiply");
  multiply({.grid = {(columns + tile - 1) / tile, (rows + tile - 1) / tile}, .block = {tile, tile}}, In(a), In(b),
           Out(c), rows, inner, columns);
  std::cout << "shared memory of a block: " << multiply.attributes().shared_bytes << " bytes\n";

  double worst = 0;
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      double sum = 0;
      for (int k = 0; k < inner; ++k)
        sum += static_cast<double>(a[static_cast<std::size_t>(row * inner + k)]) *
               b[static_cast<std::size_t>(k * columns + column)];
      worst = std::max(worst, std::abs(sum - c[static_cast<std::size_t>(row * columns + column)]));
    }
  std::cout << rows << " x " << inner << " times " << inner << " x " << columns << ": at most " << worst
            << " from float64\n";
  const bool right = worst < 2e-5;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
