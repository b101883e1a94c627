// Kernels that never end, and the limit that ends them.
#include <gmock/gmock.h>

#include <chrono>

#include <damo/device.hpp>

#include "runtime/cpu/user_kernel.hpp"
#include "support/scratch_directory.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;
using KernelTimeLimit = UserKernelTest;

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

TEST_F(KernelTimeLimit, StopsALoopThatNeverEnds) {
  const auto kernel = compiled("__global__ void k(int* y) {\n  int i = 0;\n  while (true)\n    i += 3;\n}");
  Device(&backend_).set_kernel_time_limit(0.05);
  int y = 0;
  std::string error;
  const double seconds = seconds_of([&] { error = error_of(*kernel, {{64}, {256}}, &y); });
  EXPECT_THAT(error, HasSubstr("kernel 'k': stopped after 0.05 s"));
  EXPECT_THAT(error, HasSubstr("DAMO_KERNEL_TIME_LIMIT"));
  EXPECT_GE(seconds, 0.05);
  EXPECT_LT(seconds, 20);
  expect_usable();
}

TEST_F(KernelTimeLimit, StopsOneInAChildOfFork) {
  const auto kernel = compiled("__global__ void k(int* y) { int i = 0; while (true) i += 3; }");
  Device(&backend_).set_kernel_time_limit(0.05);
  int y = 0;
  EXPECT_THAT(error_of(*kernel, {{64}, {256}}, &y), HasSubstr("stopped after 0.05 s"));
  const int status = in_child([&] {
    alarm(60);
    return error_of(*kernel, {{64}, {256}}, &y).find("stopped after 0.05 s") != std::string::npos ? 0 : 1;
  });
  EXPECT_EQ(status, 0) << "the thread that watches is the parent's";
}

TEST_F(KernelTimeLimit, NamesTheLineWhereTheKernelStood) {
  const auto kernel = compiled("__global__ void k(volatile int* y) {\n  y[1] = 1;\n  while (y[0] == 0)\n    ;\n}");
  Device(&backend_).set_kernel_time_limit(0.05);
  std::vector<int> y(2);
  // "near" where the instruction that it stood at belongs to no line, as a loop's last jump may.
  EXPECT_THAT(error_of(*kernel, {{1}, {1}}, y.data()), ::testing::AnyOf(HasSubstr("stopped after 0.05 s at user.cu:3:"), HasSubstr("stopped after 0.05 s near user.cu:3:")));
  EXPECT_EQ(y[1], 1);
}

TEST_F(KernelTimeLimit, StopsThreadsThatMeetForEver) {
  for (const char* source : {"__global__ void k(volatile int* y) { while (y[0] == 0) { __syncthreads(); } }",
                             "__device__ __noinline__ void f(volatile int* y, int n) { __syncthreads(); if (n > 0) f(y, n - 1); }\n"
                             "__global__ void k(volatile int* y) { while (y[0] == 0) f(y, 2); }",
                             "__global__ void k(volatile int* y) { while (y[0] == 0) y[1] = __shfl_sync(~0u, y[1], 0); }"}) {
    const auto kernel = compiled(source);
    Device(&backend_).set_kernel_time_limit(0.05);
    std::vector<int> y(2);
    EXPECT_THAT(error_of(*kernel, {{2}, {32}}, y.data()), HasSubstr("stopped after 0.05 s")) << source;
    Device(&backend_).set_kernel_time_limit(0);
    expect_usable();
  }
}

TEST_F(KernelTimeLimit, LeavesKernelsAloneThatEndInTime) {
  const auto kernel = compiled("__global__ void k(int* y) { atomicAdd(y, 1); }");
  Device(&backend_).set_kernel_time_limit(100);
  int y = 0;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(error_of(*kernel, {{16}, {256}}, &y), "nothing thrown");
  EXPECT_EQ(y, 100 * 16 * 256);
}

TEST_F(KernelTimeLimit, ComesFromTheEnvironment) {
  const Environment limit("DAMO_KERNEL_TIME_LIMIT", "0.25");
  EXPECT_EQ(CpuBackend().kernel_time_limit, 0.25);
  const Environment junk("DAMO_KERNEL_TIME_LIMIT", "soon");
  try {
    CpuBackend();
    FAIL();
  } catch (const OptionError& error) {
    EXPECT_THAT(error.what(), HasSubstr("DAMO_KERNEL_TIME_LIMIT is 'soon', which is no number of seconds"));
  }
  EXPECT_THROW(Device(&backend_).set_kernel_time_limit(-1), OptionError);
}

}  // namespace
}  // namespace damo::testing
