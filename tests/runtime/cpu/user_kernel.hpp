// What the tests of things that go wrong share: a user's CUDA C, compiled and launched through the back end.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <damo/error.hpp>

#include "runtime/cpu/cpu_backend.hpp"
#include "runtime/kernel/cache.hpp"
#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo::testing {

class UserKernelTest : public ::testing::Test {
 protected:
  std::shared_ptr<const LoadedKernel> compiled(const std::string& source, const std::string& name = "k", std::vector<std::string> flags = {}) {
    return backend_.cache().get({.source = source, .kind = SourceKind::kCudaC, .file_name = "user.cu", .flags = std::move(flags)})->kernel(name);
  }
  /// Arguments by the address of their values.
  template <class... Arguments>
  void launch(const LoadedKernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    const void* pointers[] = {static_cast<const void*>(&arguments)..., nullptr};
    backend_.launch(kernel, config, const_cast<void* const*>(pointers), nullptr);
  }
  /// The text of the error; "nothing thrown".
  template <class... Arguments>
  std::string error_of(const LoadedKernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    return damo::testing::error_of<DeviceError>([&] { launch(kernel, config, arguments...); });
  }
  /// The device still computes.
  void expect_usable() {
    const auto kernel = compiled("extern \"C\" __global__ void k(int* y, int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) y[i] = 3 * i;\n}");
    std::vector<int> y(10000, -1);
    launch(*kernel, {{40}, {256}}, y.data(), 10000);
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(y[i], 3 * i);
  }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()};
  CpuBackend backend_;
};

}  // namespace damo::testing
