// Kernels whose threads wait, in both of the forms that the compiler knows: loops over threads, and coroutines.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cpu/compile_support.hpp"

namespace damo::cpu_backend::testing {

/// Words without a pattern.
inline std::vector<std::uint32_t> hashed(std::size_t n) {
  std::vector<std::uint32_t> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<std::uint32_t>(i * 2654435761u >> 7);
  return values;
}

inline bool mentions(const CompileOutput& output, std::string_view symbol) {
  const auto* begin = reinterpret_cast<const char*>(output.object.data());
  return std::string_view(begin, output.object.size()).find(symbol) != std::string_view::npos;
}

class BothForms {
 public:
  explicit BothForms(const std::string& text) {
    const CompileOutput loops = compile_cuda(text), coroutines = compile_cuda(text, {}, {"--damo-coroutines"});
    loops_ = load(loops);
    coroutines_ = load(coroutines);
    EXPECT_FALSE(mentions(loops, "damo_run_coroutines")) << "the kernel was not split";
    EXPECT_TRUE(mentions(coroutines, "damo_run_coroutines"));
  }

  /// What the kernel writes to y, its first argument; fails if the forms differ.
  template <class T, class... Arguments>
  std::vector<T> run(const std::string& kernel, Extent grid, Extent block, const std::vector<T>& y, const Arguments&... arguments) const {
    std::vector<T> by_loops = y, by_coroutines = y;
    launch(loops_->kernel(kernel), grid, block, by_loops.data(), arguments...);
    launch(coroutines_->kernel(kernel), grid, block, by_coroutines.data(), arguments...);
    const auto [a, b] = std::mismatch(by_loops.begin(), by_loops.end(), by_coroutines.begin());
    EXPECT_TRUE(a == by_loops.end()) << kernel << ", block of " << block.x << " x " << block.y << " x " << block.z << ": element "
                                     << a - by_loops.begin() << " is " << *a << " by loops, " << *b << " by coroutines";
    return by_loops;
  }

 private:
  std::unique_ptr<LoadedObject> loops_, coroutines_;
};

}  // namespace damo::cpu_backend::testing
