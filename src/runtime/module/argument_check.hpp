// Whether arguments fit a kernel's parameters. See tests/runtime/module/launch_test.cpp.
#pragma once
#include <cstddef>

#include <damo/kernel_argument.hpp>

#include "runtime/backend.hpp"

namespace damo {

/// Throws TypeError, or DeviceError for memory of another device, naming the argument and what to pass in its place.
void check_arguments(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count);

/// Whether memory that device has is within reach of kernels on on: of the same device, or both the host's.
bool is_within_reach(const Backend* device, const Backend& on);

}  // namespace damo
