// Faults of kernels lose the process's context, so each test runs in a process of its own.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include <damo/error.hpp>

#include "on_cuda.hpp"

namespace damo::cuda_backend {
namespace {

class CudaFaultOnCuda : public OnCudaTest {
 protected:
  // Before the parent makes a context: the child starts the program anew and comes here too.
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    OnCudaTest::SetUp();
  }
  /// Runs the kernel on an address that nothing is at; exits with 3 after printing the error.
  [[noreturn]] void fault(const char* source) {
    try {
      const auto kernel = load(source)->kernel("fault");
      void* address = reinterpret_cast<void*>(0x10);
      void* arguments[] = {&address};
      backend_->launch(*kernel, {}, arguments, nullptr);
      backend_->synchronize();
    } catch (const DeviceError& error) {
      std::fputs(error.what(), stderr);
      backend_->release(address_);  // must not throw on a lost context
      std::exit(3);
    }
    std::exit(0);
  }
  void* address_ = reinterpret_cast<void*>(0x1000);
};

TEST_F(CudaFaultOnCuda, IllegalAddressSaysThatTheContextIsLost) {
  EXPECT_EXIT(fault("extern \"C\" __global__ void fault(int* x) { x[0] = 1; }"), testing::ExitedWithCode(3),
              "CUDA_ERROR_ILLEGAL_ADDRESS(.|\n)*context is lost(.|\n)*compute-sanitizer");
}

TEST_F(CudaFaultOnCuda, TrapSaysThatTheContextIsLost) {
  EXPECT_EXIT(fault("extern \"C\" __global__ void fault(int*) { __trap(); }"), testing::ExitedWithCode(3),
              "CUDA_ERROR_(.|\n)*context is lost");
}

}  // namespace
}  // namespace damo::cuda_backend
