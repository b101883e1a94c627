// How a generated CUDA kernel divides its work, from the spec alone.
#pragma once
#include "runtime/kernel/spec.hpp"

namespace damo {

struct CudaSchedule {
  int block = 256;   ///< threads
  int vector = 4;    ///< elements of one access
  int unroll = 1;    ///< vectors of one thread

  int elements_per_block() const { return block * vector * unroll; }
};

CudaSchedule cuda_schedule(const KernelSpec& spec);

inline constexpr int kTile = 32;      ///< edge of a tile in shared memory
inline constexpr int kTileRows = 8;   ///< rows that a block of 256 threads handles at once

}  // namespace damo
