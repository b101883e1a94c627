// How a generated CUDA kernel looks at what it stores in guarded outputs (KernelSpec::guarded): each thread asks the elements or vectors that it stores, which are in its registers,
// and writes the flag if one is not finite. Nothing is counted and nobody waits: that costs two instructions an element and one a vector.
#pragma once
#include <string>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// guard_look(flag, y) of an element or of a Vec; empty if the spec guards nothing. Behind cuda_head.
std::string cuda_guard_functions(const KernelSpec& spec);
/// " guard_look(a.flag, y0.e[k]);" of what an output stores; empty if it is not guarded.
std::string cuda_look(const KernelSpec& spec, int output, const std::string& stored);

}  // namespace damo
