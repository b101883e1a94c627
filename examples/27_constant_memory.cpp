// Variables of a module: coefficients in constant memory, written by the host; a counter in device memory that threads
// add to, read by the host.
#include <array>
#include <cmath>
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>
using namespace damo;

int main() {
  const Module module(Device(), R"(
    __constant__ double coefficients[4];
    __device__ int negative_count = 0;

    __global__ void polynomial(double* x, int n) {
      const int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      double y = 0;
      for (int k = 3; k >= 0; --k) y = y * x[i] + coefficients[k];
      if (y < 0) atomicAdd(&negative_count, 1);
      x[i] = y;
    })");
  const Global coefficients = module.global("coefficients");
  coefficients.set(std::array{-6.0, 11.0, -6.0, 1.0});  // (x - 1) (x - 2) (x - 3)

  std::vector<double> x;
  for (int i = 0; i < 1000; ++i) x.push_back(0.005 * i);  // 0 to 5
  std::vector<double> y = x;
  module.kernel("polynomial").launch_1d(1000, InOut(y), 1000);

  const int negative = module.global("negative_count").get<int>();
  std::cout << negative << " of 1000 values are negative; the coefficients are";
  for (double value : coefficients.to_vector<double>()) std::cout << " " << value;
  std::cout << "\n";

  bool right = coefficients.bytes() == 32;
  int expected = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double product = (x[i] - 1) * (x[i] - 2) * (x[i] - 3);
    right &= std::abs(y[i] - product) < 1e-12;
    expected += y[i] < 0;
  }
  right &= negative == expected && std::abs(negative - 400) <= 3;  // below 1, and between 2 and 3
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
