// Which kernels of a cubin first wait for the work that they follow (PTX: griddepcontrol.wait), before they touch memory that others can write. A replayed
// graph lets such a kernel be launched while the one before it still runs (runtime/cuda/replay.cpp): its blocks are there when that ends, some
// 0.3 us earlier. The compiler may move loads that it takes for constant in front of the wait, so the machine code is asked, not the text.
//
// From compute capability 7.0 on an instruction has 16 bytes, whose low 12 bits say what it does. In front of the wait only those are let pass
// that are known to compute in registers or to read parameters; everything else, a branch too, makes the kernel one that does not wait first.
// See tests/runtime/cuda/cubin_waits_nvrtc_test.cpp.
#pragma once
#include <cstddef>
#include <set>
#include <span>
#include <string>

namespace damo::cuda_backend {

/// Their symbols. None of code that is no cubin.
std::set<std::string> kernels_that_wait_first(std::span<const std::byte> code);

}  // namespace damo::cuda_backend
