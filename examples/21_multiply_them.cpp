// Host memory as arguments: In is copied to the device, Out back from it, and nothing else is to be done. First 400
// products with one block of 400 threads, then those of two 20 x 10 matrices with a block of two dimensions.
#include <array>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <random>
#include <vector>
using namespace damo;

int main() {
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  const Module module(Device(), R"(
    __global__ void multiply_them(float* dest, const float* a, const float* b) {
      const int i = threadIdx.x;
      dest[i] = a[i] * b[i];
    }

    __global__ void multiply_matrices(float* dest, const float* a, const float* b, int columns) {
      const int i = threadIdx.y * columns + threadIdx.x;
      dest[i] = a[i] * b[i];
    })");

  std::vector<float> a(400), b(400), dest(400);
  for (std::size_t i = 0; i < 400; ++i) a[i] = normal(random), b[i] = normal(random);
  module.kernel("multiply_them")({.block = {400}}, Out(dest), In(a), In(b));
  double error = 0;
  for (std::size_t i = 0; i < 400; ++i) error += std::abs(dest[i] - a[i] * b[i]);
  std::cout << "400 products: dest - a * b adds up to " << error << "\n";

  // Any contiguous memory does: here arrays of arrays, 20 rows of 10 columns.
  std::array<std::array<float, 10>, 20> p, q, product;
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t column = 0; column < 10; ++column)
      p[row][column] = normal(random), q[row][column] = normal(random);
  module.kernel("multiply_matrices")({.block = {10, 20}}, Out(product), In(p), In(q), 10);
  double matrix_error = 0;
  for (std::size_t row = 0; row < 20; ++row)
    for (std::size_t column = 0; column < 10; ++column)
      matrix_error += std::abs(product[row][column] - p[row][column] * q[row][column]);
  std::cout << "a 20 x 10 matrix: dest - a * b adds up to " << matrix_error << "\n";

  const bool right = error == 0 && matrix_error == 0;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
