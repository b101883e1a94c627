// The calling convention of every kernel compiled for the CPU, generated or CUDA C: the loader finds a
// function of this type under the kernel's name, the launcher calls it once for each share of the grid. Of kernels whose threads wait,
// compiled code and the scheduler (cooperative.hpp) share each thread's ThreadState.
#pragma once
#include <cstdint>

namespace damo::cpu_backend {

/// What a kernel may ask about its launch. Written by the launcher, read by compiled code: keep the layout.
struct LaunchFrame {
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint32_t shared_bytes;  ///< dynamic shared memory asked for
  std::uint32_t reserved;
  void* shared;                ///< this worker's shared memory, static part first; null if none
  void* report;                ///< the launch's LaunchReport: what went wrong in it; null in generated kernels
};

/// CUDA C is compiled under the assumption that blockIdx * blockDim + threadIdx stays below 2^31 along each axis, which
/// is what lets its loads and stores be contiguous. The launcher refuses a grid of which this is false.
inline bool fits_index_range(const LaunchFrame& frame) {
  for (int axis = 0; axis < 3; ++axis) {
    if (std::uint64_t{frame.grid[axis]} * frame.block[axis] >= std::uint64_t{1} << 31) return false;
  }
  return true;
}

/// Runs blocks [first, last) of the grid, linear in x fastest. arguments[i] points at the i-th argument's value.
using KernelEntry = void (*)(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last);

#include "runtime/cpu/clang/prelude/thread_state.h"

}  // namespace damo::cpu_backend
