// Transposing through shared memory: neighbouring threads read neighbours of a row and write neighbours of a row of the
// result, which are neighbours of a column before; the tile in between turns one into the other. Its rows have 33
// elements, so that the 32 threads that read a column of it meet 32 different banks.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <numeric>
#include <vector>
using namespace damo;

int main() {
  const Device device;
  const Module module(device, R"(
    template <class T>
    __global__ void transpose(const T* in, T* out, int rows, int columns) {
      __shared__ T tile[32][33];
      const int column = blockIdx.x * 32 + threadIdx.x;
      for (int i = threadIdx.y; i < 32; i += blockDim.y) {
        const int row = blockIdx.y * 32 + i;
        if (row < rows && column < columns) tile[i][threadIdx.x] = in[row * columns + column];
      }
      __syncthreads();
      const int out_column = blockIdx.y * 32 + threadIdx.x;
      for (int i = threadIdx.y; i < 32; i += blockDim.y) {
        const int out_row = blockIdx.x * 32 + i;
        if (out_row < columns && out_column < rows) out[out_row * rows + out_column] = tile[threadIdx.x][i];
      }
    })",
                      {.kernels = {"transpose<float>", "transpose<double>"}});

  const int rows = 300, columns = 200;
  std::vector<float> values(rows * columns);
  std::iota(values.begin(), values.end(), 0.0f);
  const Array in = Array::from(values, {rows, columns}, device), out = Array::empty({columns, rows}, float32, device);
  const LaunchConfig config{.grid = {(columns + 31) / 32, (rows + 31) / 32}, .block = {32, 8}};
  module.kernel("transpose<float>")(config, in, out, rows, columns);

  // Array::transpose() is a view that reads the same elements in the other order: no kernel.
  bool right = out.to_vector<float>() == in.transpose().to_vector<float>();

  std::vector<double> wide(values.begin(), values.end()), wide_out(values.size());
  module.kernel("transpose<double>")(config, In(wide), Out(wide_out), rows, columns);
  for (std::size_t i = 0; i < wide.size(); ++i) right &= wide_out[i % columns * rows + i / columns] == wide[i];
  std::cout << rows << " x " << columns << " float32 and float64 transposed on " << device.name() << "\n";
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
