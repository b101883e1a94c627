// NativeKernel: a kernel of the CPU's that is part of the library, compiled with it. It is launched, noted and captured
// as those that are compiled at run time.
#pragma once
#include <cstddef>
#include <string_view>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

struct NativeKernel {
  std::string_view name;
  std::string_view parameter;  ///< the type of its only one, a struct
  std::size_t bytes;           ///< of that
  KernelEntry entry;
};

}  // namespace damo::cpu_backend
