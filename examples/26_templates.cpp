// Templates and options. An instance of a template is named when its Module is made and found by that name. Macros,
// include directories, the language standard and the compiler's own flags stand in ModuleOptions. A kernel tells what
// the compiler made of it.
#include <damo/cuda_c.hpp>
#include <iostream>
#include <vector>
using namespace damo;

constexpr const char* source = R"(
  template <int degree>
  struct Power {
    template <class T>
    static __device__ T of(T x) { return x * Power<degree - 1>::of(x); }
  };
  template <>
  struct Power<0> {
    template <class T>
    static __device__ T of(T) { return T(1); }
  };

  template <class T, int degree>
  __global__ void __launch_bounds__(THREADS) power(T* x, int n) {
    const auto raise = [](T value) { return Power<degree>::of(value); };
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = raise(x[i]);
  })";

int main() {
  const Module module(Device(), source,
                      {.defines = {{"THREADS", "128"}}, .kernels = {"power<float, 3>", "power<double, 5>"}});
  for (const std::string& name : module.kernel_names()) {
    const Kernel kernel = module.kernel(name);
    const KernelAttributes made = kernel.attributes();
    std::cout << name << ": " << made.registers << " registers a thread, at most " << made.max_threads_per_block
              << " threads a block, " << kernel.suggested_block() << " suggested\n";
  }

  std::vector<float> cubes = {0, 1, 2, 3, -4};
  module.kernel("power<float, 3>").launch_1d(5, InOut(cubes), 5);
  std::vector<double> fifth_powers = {0, 1, 2, 3, -4};
  module.kernel("power<double, 5>").launch_1d(5, InOut(fifth_powers), 5);

  bool right = cubes == std::vector<float>{0, 1, 8, 27, -64};
  right &= fifth_powers == std::vector<double>{0, 1, 32, 243, -1024};
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
