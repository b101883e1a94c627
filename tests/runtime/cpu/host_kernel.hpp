// Kernels that two compilers make of one text: Damo, and the compiler of these tests, which runs thread after thread (or,
// where they wait for each other, each as a thread of the host). What the second gives is what is expected.
#pragma once
#include <barrier>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {

struct HostThread {
  Extent threadIdx, blockIdx, blockDim, gridDim;
  std::barrier<>* meeting = nullptr;
  void __syncthreads() const { meeting->arrive_and_wait(); }
};

template <class T, class V>
T atomicAdd(T* p, V v) {
  return __atomic_fetch_add(p, static_cast<T>(v), __ATOMIC_SEQ_CST);
}
template <class T>
T atomicMax(T* p, T v) {
  T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
  while (old < v && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}
template <class T>
T atomicExch(T* p, T v) {
  return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST);
}
inline int atomicCAS(int* p, int expected, int v) {
  __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return expected;
}
inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

struct HostKernel {
  std::string name, text;
  std::function<void(HostThread, int*, int*, int, int)> thread;
};

/// The kernel name(int* y, int* x, int n, int m), in text and as the host's own function. i is blockIdx.x * blockDim.x +
/// threadIdx.x, threads the number of the grid's threads along x.
#define DAMO_KERNEL(name, ...)                                                                                           \
  HostKernel {                                                                                                           \
    #name, "__global__ void " #name "(int* y, int* x, int n, int m) { const int i = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x; " \
           "(void)threads; " #__VA_ARGS__ " }\n",                                                                        \
        [](HostThread of_host, int* y, int* x, int n, int m) {                                                           \
          struct Body : HostThread {                                                                                     \
            void run([[maybe_unused]] int* y, [[maybe_unused]] int* x, [[maybe_unused]] int n, [[maybe_unused]] int m) { \
              [[maybe_unused]] const int i = int(blockIdx.x * blockDim.x + threadIdx.x), threads = int(gridDim.x * blockDim.x); \
              __VA_ARGS__                                                                                                \
            }                                                                                                            \
          };                                                                                                             \
          Body{of_host}.run(y, x, n, m);                                                                                 \
        }                                                                                                                \
  }
#define __shared__ static
#define DYNAMIC_SHARED(type, name) static type name[4096]
inline constexpr const char* kHostKernelHead = "#define DYNAMIC_SHARED(type, name) extern __shared__ type name[]\n";

/// Runs the threads on the host, block after block.
inline void run_on_host(const HostKernel& kernel, Extent grid, Extent block, int* y, int* x, int n, int m) {
  const bool waits = kernel.text.find("__syncthreads") != std::string::npos;
  for (std::uint32_t b = 0; b < grid.x * grid.y * grid.z; ++b) {
    std::barrier<> meeting(block.x * block.y * block.z);
    std::vector<std::thread> running;
    for (std::uint32_t t = 0; t < block.x * block.y * block.z; ++t) {
      const HostThread thread{{t % block.x, t / block.x % block.y, t / block.x / block.y}, {b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y}, block, grid, &meeting};
      if (waits) running.emplace_back([&, thread] { kernel.thread(thread, y, x, n, m), meeting.arrive_and_drop(); });
      else kernel.thread(thread, y, x, n, m);
    }
    for (std::thread& thread : running) thread.join();
  }
}

struct HostLaunch {
  Extent grid, block;
  int n, m;
};

/// Compiles the kernels and compares all of y and x after each launch. in_place: x is y.
inline void expect_as_on_host(const std::vector<HostKernel>& kernels, const std::vector<HostLaunch>& launches, int elements, bool in_place = false) {
  std::string text = kHostKernelHead;
  for (const HostKernel& kernel : kernels) text += kernel.text;
  const auto object = load(compile_cuda(text));
  for (const HostKernel& kernel : kernels) {
    for (const HostLaunch& to : launches) {
      std::vector<int> y(elements), x(elements);
      for (int i = 0; i < elements; ++i) y[i] = i * 7 % 31, x[i] = i * 37 % 101 % 13;
      std::vector<int> expected_y = y, expected_x = x;
      run_on_host(kernel, to.grid, to.block, expected_y.data(), in_place ? expected_y.data() : expected_x.data(), to.n, to.m);
      launch(object->kernel(kernel.name), to.grid, to.block, y.data(), in_place ? y.data() : x.data(), to.n, to.m);
      const auto [a, b] = std::mismatch(y.begin(), y.end(), expected_y.begin());
      EXPECT_TRUE(a == y.end()) << kernel.name << "<<<" << to.grid.x << " x " << to.grid.y << ", " << to.block.x << " x " << to.block.y << " x " << to.block.z << ">>>, n "
                                << to.n << ", m " << to.m << ": y[" << a - y.begin() << "] is " << *a << ", should be " << *b << '\n' << kernel.text;
      EXPECT_EQ(x, expected_x) << kernel.name << '\n' << kernel.text;
    }
  }
}

}  // namespace damo::cpu_backend::testing
