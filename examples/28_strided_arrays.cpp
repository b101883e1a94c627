// A bare pointer knows no strides: an Array that is not one block of memory in C order is refused where a kernel wants
// a pointer, for the kernel would read other elements than the caller means. A kernel that takes a damo::Strided gets
// shape and strides with the address: transposed, sliced and backwards arrays work as they lie.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>
using namespace damo;

int main() {
  const Device device;
  const Module module(device, R"(
    __global__ void scale(damo::Strided<float, 2> x, float factor) {
      const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
      if (row < x.shape[0] && column < x.shape[1]) x(row, column) *= factor;
    }

    __global__ void scale_block(float* x, float factor, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) x[i] *= factor;
    })");
  const Kernel scale = module.kernel("scale");

  const Array x = Array::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {3, 4}, device);
  scale({.block = {32, 8}}, strided(x.slice({{.start = 1}, {.step = -2}})), 10.0f);  // rows 1 and 2, columns 3 and 1
  std::cout << x << "\n";
  bool right = x.to_vector<float>() == std::vector<float>{0, 1, 2, 3, 4, 50, 6, 70, 8, 90, 10, 110};
  scale({.block = {32, 8}}, strided(x.transpose().slice({{0, 1}})), -1.0f);  // the first column, as a row
  right &= x.to_vector<float>() == std::vector<float>{0, 1, 2, 3, -4, 50, 6, 70, -8, 90, 10, 110};

  try {
    module.kernel("scale_block").launch_1d(12, x.transpose(), 2.0f, 12);
    right = false;
  } catch (const TypeError& error) {
    std::cout << "as a bare pointer:\n" << error.what() << "\n";
  }
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
