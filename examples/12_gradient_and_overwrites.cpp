// Two more lines in a RawKernel. .gradient: what grad() and lop() find behind the kernel, here another kernel.
// .overwrites: a parameter that the kernel changes, here a histogram that it adds to.
#include <cmath>
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

// softsquare(x, w) = w x^2 / (1 + |x|); both derivatives in one kernel
inline const RawKernel softsquare_backward{{
    .name = "softsquare_backward",
    .inputs = {"const float* g", "const float* x", "const float* w"},
    .outputs = {"float* dx", "float* dw"},
    .scalars = {"int size"},
    .body = R"(
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= size) return;
      float a = fabsf(x[i]), d = 1.0f + a;
      dx[i] = g[i] * w[i] * x[i] * (2.0f + a) / (d * d);
      dw[i] = g[i] * a * a / d;
    )",
}};
inline const RawKernel softsquare{{
    .name = "softsquare",
    .inputs = {"const float* x", "const float* w"},
    .outputs = {"float* y"},
    .scalars = {"int size"},
    .body = R"(
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < size) y[i] = w[i] * x[i] * x[i] / (1.0f + fabsf(x[i]));
    )",
    .gradient =
        [](auto g, auto in, auto /*out*/) {
          return softsquare_backward.outputs({g[0], in[0], in[1]});
        },
}};

// counts goes in and comes out: one parameter of the kernel
inline const RawKernel histogram{{
    .name = "histogram",
    .inputs = {"int* counts", "const float* x"},
    .outputs = {"int* counts"},
    .scalars = {"int counts_size", "int x_size"},
    .body = R"(
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= x_size) return;
      int bin = min(max(int(x[i] * counts_size), 0), counts_size - 1);
      atomicAdd(&counts[bin], 1);
    )",
    .launch =
        [](const KernelShapes& s) { return LaunchConfig{.grid = {(s.inputs[1].size() + 255) / 256}, .block = {256}}; },
    .overwrites = {"counts"},
}};

int main() {
  // The gradient by x and w of sum(g * softsquare(x, w) * x), through the kernel and the rows around it.
  const Variable x = matrix("x"), w = matrix("w"), g = matrix("g");
  const auto gradients = lop({softsquare(x, w) * x}, {g}, {x, w});
  const Function f = function({x, w, g}, {gradients[0], gradients[1]});
  const auto [dx, dw] = f.call<2>(Array::full({20, 10}, 2.0), Array::full({20, 10}, 3.0), Array::ones({20, 10}));
  // y = w x^3 / (1 + x): by x w x^2 (3 + 2 x) / (1 + x)^2, by w x^3 / (1 + x)
  bool right = true;
  for (float value : dx.to_vector<float>()) right &= std::abs(value - 3 * 4 * 7 / 9.0f) < 1e-5f;
  for (float value : dw.to_vector<float>()) right &= std::abs(value - 8 / 3.0f) < 1e-6f;
  std::cout << "gradients " << dx.slice({{0, 1}, {0, 2}}) << " and " << dw.slice({{0, 1}, {0, 2}}) << "\n";

  // Two histograms added up: the first copies the caller's counts, the second goes on in the first one's memory.
  const Variable counts = vector("counts", int32), values = vector("values");
  const Function count = function({counts, values}, {histogram(histogram(counts, values), values * 0.5)});
  const Array before = Array::full({4}, 10, int32);
  const Array after = count(before, Array::from(std::vector<float>{0.1f, 0.3f, 0.6f, 0.9f, 0.95f}));
  right &=
      after.to_vector<int>() == std::vector<int>{13, 14, 11, 12} && before.to_vector<int>() == std::vector<int>(4, 10);
  std::cout << "counts " << after << "\n" << count.explain();
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
