// What the tests of the CPU back end share: compile, load, run over a grid.
#pragma once
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/cpu/clang_plugin.hpp"
#include "runtime/cpu/elf_loader.hpp"
#include "runtime/cpu/kernel_abi.hpp"
#include "runtime/cpu/kernel_guard.hpp"

namespace damo::cpu_backend::testing {

inline CompileOutput compile_loops(const std::string& text) {
  return compile({.source = text, .file_name = "generated.cpp", .language = SourceLanguage::kLoops});
}

inline CompileOutput compile_cuda(const std::string& text, std::vector<std::string> kernels = {}, std::vector<std::string> flags = {}) {
  return compile({.source = text, .file_name = "user.cu", .language = SourceLanguage::kCudaC, .kernels = std::move(kernels), .flags = std::move(flags)});
}

inline std::unique_ptr<LoadedObject> load(const CompileOutput& output) {
  EXPECT_TRUE(output.ok) << output.log;
  return std::make_unique<LoadedObject>(output.object, "test");
}

struct Extent {
  std::uint32_t x = 1, y = 1, z = 1;
};

/// Runs every block of the grid on the calling thread; each argument is passed by the address of its value. Throws what
/// the kernel reports. There are 48 KiB of shared memory.
template <class... Arguments>
void launch(KernelEntry kernel, Extent grid, Extent block, const Arguments&... arguments) {
  const void* pointers[] = {static_cast<const void*>(&arguments)..., nullptr};
  alignas(64) static thread_local std::byte shared[48 << 10];
  LaunchReport report;
  LaunchFrame frame{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, 0, 0, shared, &report};
  KernelGuard::call(report, [&] {
    kernel(const_cast<void* const*>(pointers), &frame, 0, std::int64_t{grid.x} * grid.y * grid.z);
  });
  if (report.failed()) throw std::runtime_error(report.what());
}

/// 0, 1, 2 to n - 1.
inline std::vector<float> counting(int n) {
  std::vector<float> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

/// Milliseconds that a call of work takes: the least of several.
template <class Work>
double least_milliseconds(int times, Work work) {
  double least = 1e30;
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    least = std::min(least, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

}  // namespace damo::cpu_backend::testing
