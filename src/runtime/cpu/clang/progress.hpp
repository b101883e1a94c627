// What a compile works on, in words that are still there if it faults.
#pragma once
#include <cstddef>
#include <cstdio>
#include <vector>

#include <llvm/ADT/StringRef.h>

#include "kernels.hpp"

namespace damo::clang_plugin {

class Progress {
 public:
  Progress(char* text, std::size_t bytes) : text_(text), bytes_(bytes) {}
  /// "kernel 'k' (user.cu:12)".
  void at(const KernelInfo& kernel) const { std::snprintf(text_, bytes_, "kernel '%s' (%s)", kernel.name.c_str(), kernel.place.c_str()); }
  /// The kernel that a function of the module belongs to, if that can be seen from its name.
  void at_function(llvm::StringRef name, const std::vector<KernelInfo>& kernels) const {
    for (const KernelInfo& kernel : kernels) {
      const llvm::StringRef rest = name.starts_with(kernel.thread) ? name.drop_front(kernel.thread.size()) : "0";
      if (name == kernel.name || rest.empty() || rest.front() == '.') return at(kernel);
    }
  }

 private:
  char* text_;
  std::size_t bytes_;
};

}  // namespace damo::clang_plugin
