// Exceptions in what compiled code calls: they end the launch with their text, and the next launch is right.
#include <sys/resource.h>

#include <fstream>
#include <thread>

#include <gmock/gmock.h>

#include "runtime/cpu/user_kernel.hpp"

namespace damo::testing {
namespace {

using ::testing::HasSubstr;

/// The process gets so many more bytes of address space, while this lives.
class LittleMemory {
 public:
  explicit LittleMemory(std::size_t more) {
    getrlimit(RLIMIT_AS, &before_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = before_;
    limit.rlim_cur = pages * 4096 + more;
    setrlimit(RLIMIT_AS, &limit);
  }
  ~LittleMemory() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

class KernelExceptions : public UserKernelTest {
 protected:
  /// On a thread of its own, which has no memory of earlier launches. The kernel's one argument is y, of a block of 1024.
  void expect_failure_then_values(const std::string& source, std::vector<std::string> flags, std::size_t more, const std::string& message) {
    const auto kernel = compiled(source, "k", std::move(flags));
    std::thread([&] {
      std::vector<int> y(1024, -1);
      std::string error;
      {
        const LittleMemory little(more);
        error = error_of(*kernel, {{1}, {1024}}, y.data());
      }
      EXPECT_THAT(error, HasSubstr(message));
      launch(*kernel, {{1}, {1024}}, y.data());
      for (int t = 0; t < 1024; ++t) ASSERT_EQ(y[t], 1023 - t);
    }).join();
  }
};

const char* const kExchange = R"(
extern "C" __global__ void k(int* y) {
  __shared__ int s[1024];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[1023 - threadIdx.x];
})";

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DAMO_NEEDS_ADDRESS_LIMITS GTEST_SKIP() << "a sanitizer takes all of the address space"
#else
#define DAMO_NEEDS_ADDRESS_LIMITS (void)0
#endif

TEST_F(KernelExceptions, WithoutMemoryForStacksTheLaunchFailsAndTheNextIsRight) {
  DAMO_NEEDS_ADDRESS_LIMITS;
  expect_failure_then_values(kExchange, {"--damo-reference"}, 64 << 20, "kernel 'k': no memory for the stacks of a block's threads");
}

const char* const kLargeArrays = R"(
extern "C" __global__ void k(int* y) {
  __shared__ int s[1024];
  int mine[32768];
  for (int i = 0; i < 32768; ++i) mine[i] = threadIdx.x + i;
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  y[threadIdx.x] = s[1023 - threadIdx.x] + mine[(s[0] * 77 + threadIdx.x) % 32768] - 2 * threadIdx.x;
})";

TEST_F(KernelExceptions, WithoutMemoryForABlocksArraysTheLaunchFailsAndTheNextIsRight) {
  DAMO_NEEDS_ADDRESS_LIMITS;
  expect_failure_then_values(kLargeArrays, {}, 16 << 20, "kernel 'k': the runtime could not go on: std::bad_alloc");
}

TEST_F(KernelExceptions, WithoutMemoryForCoroutinesTheLaunchFailsAndTheNextIsRight) {
  DAMO_NEEDS_ADDRESS_LIMITS;
  expect_failure_then_values(kLargeArrays, {"--damo-coroutines"}, 16 << 20, "kernel 'k': the runtime could not go on: std::bad_alloc");
}

}  // namespace
}  // namespace damo::testing
