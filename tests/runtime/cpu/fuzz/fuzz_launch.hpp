// Launches a kernel of a mutated source, in check mode and under a time limit, with arguments made up from its parameters.
#pragma once
#include <string>

#include "runtime/cpu/cpu_backend.hpp"

namespace damo::cpu_backend::testing {

/// Launches every kernel whose parameters are pointers and numbers, once, in two blocks of 64 threads. What a kernel does
/// wrong is an error that this swallows. Gives the number of launches.
int launch_kernels(CpuBackend& backend, const std::string& source);

}  // namespace damo::cpu_backend::testing
