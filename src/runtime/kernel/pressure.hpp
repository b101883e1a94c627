// How many registers a kernel's values take: a model that schedules and fusion choose by, held against what NVRTC reports in
// tests/runtime/cuda/pressure_nvrtc_test.cpp.
#pragma once
#include "runtime/kernel/spec.hpp"

namespace damo {

/// 32-bit registers that an element of the dtype takes while it is computed with.
inline int words_of(DType dtype) { return itemsize(dtype) == 8 ? 2 : 1; }

/// 32-bit words of one element's values that are held at once where the steps run in order: inputs, which are read before the
/// first step, up to their last reader, outputs up to the end, other values from step to last reader. Numbers take none.
int words_held(const KernelSpec& spec);

}  // namespace damo
