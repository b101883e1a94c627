// Kernels of one line of CUDA C, around which Damo writes the rest. An ElementwiseKernel runs its line for every
// element, with as many outputs as you like; a ReductionKernel maps each element to a value and joins the values, of
// the whole array or along axes; a scan kernel keeps every value on the way. Arrays may be sliced and transposed, and
// they broadcast.
#include <cmath>
#include <damo/damo.hpp>
#include <damo/elementwise_kernel.hpp>
#include <damo/reduction_kernel.hpp>
#include <damo/scan_kernel.hpp>
#include <iostream>
#include <numeric>
#include <vector>
using namespace damo;

const ElementwiseKernel axpby("float a, const float* x, float b, const float* y, float* z",
                              "z[i] = a * x[i] + b * y[i]");
const ElementwiseKernel to_polar("const float* x, const float* y, float* radius, float* angle",
                                 "radius[i] = hypotf(x[i], y[i]); angle[i] = atan2f(y[i], x[i])");
const ReductionKernel inner({.dtype_out = float32,
                             .neutral = "0",
                             .reduce = "a + b",
                             .map = "x[i] * y[i]",
                             .arguments = "const float* x, const float* y"});
const ReductionKernel largest(
    {.dtype_out = float32, .neutral = "-INFINITY", .reduce = "fmaxf(a, b)", .arguments = "const float* x"});
const InclusiveScanKernel highest_so_far(int32, "a > b ? a : b");

int main() {
  std::vector<float> values(20);
  std::iota(values.begin(), values.end(), 0.0f);
  const Array x = Array::from(values, {4, 5}),
              y = Array::from<float>({1, 10, 100, 1000, 10000});  // y goes along each row

  const Array z = axpby.results(2, x, 3, y).front();
  std::cout << "2 x + 3 y:\n" << z << "\n";
  bool right = z.shape() == Shape{4, 5};
  const std::vector<float> sums = z.to_vector<float>();
  for (std::size_t i = 0; i < 20; ++i)
    right &= sums[i] == 2 * values[i] + 3 * std::pow(10.0f, static_cast<float>(i % 5));

  axpby(1, x.slice({{0, 2}}), -1, x.slice({{2, 4}}), z.slice({{0, 2}}));  // views, the output too
  right &=
      z.slice({{0, 2}}).to_vector<float>() == std::vector<float>(10, -10.0f) && z.to_vector<float>()[10] == sums[10];

  const std::vector<Array> polar = to_polar.results(Array::from<float>({3, 0}), Array::from<float>({4, 2}));
  right &= polar[0].to_vector<float>() == std::vector<float>{5, 2};
  right &= std::abs(polar[1].to_vector<float>()[1] - 1.5707963f) < 1e-6f;

  std::cout << "x . x is " << inner(x, x) << ", the largest of each column " << largest.along(0, false, x) << "\n";
  right &= inner(x, x).to_vector<float>()[0] == 2470;  // 19 * 20 * 39 / 6
  right &= largest.along(0, false, x).to_vector<float>() == std::vector<float>{15, 16, 17, 18, 19};
  right &= largest.along(1, false, x.transpose()).to_vector<float>() == std::vector<float>{15, 16, 17, 18, 19};
  right &= highest_so_far(Array::from<int>({2, 1, 5, 4, 9, 0})).to_vector<int>() == std::vector<int>{2, 2, 5, 5, 9, 9};
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
