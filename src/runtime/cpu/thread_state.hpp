// What one thread of a CUDA C block knows and says: where it stands, and, when it waits, for what. Compiled code and the
// scheduler (cooperative.hpp) both read and write it: keep the layout. Its mirror is in clang/prelude/cuda_c.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// What a thread waits for: the first argument of the prelude's __damo_wait.
enum class Wait : std::int32_t {
  kExited = -1,    ///< nothing any more: it has returned
  kBarrier = 0,    ///< __syncthreads
  kBarrierCount,   ///< value: predicate; result: how many threads' are true
  kBarrierAnd,
  kBarrierOr,
  kWarp,           ///< __syncwarp
  kShuffle,        ///< operand: the lane to read; result: its value
  kBallot,         ///< value: predicate; result: lanes whose is true
  kMatchAny,       ///< result: lanes of the same value
  kMatchAll,       ///< result: mask if all are the same, else 0
  kReduceAdd,      ///< of 32-bit values
  kReduceMin,
  kReduceMax,
  kReduceSignedMin,
  kReduceSignedMax,
  kReduceAnd,
  kReduceOr,
  kActiveMask,     ///< result: lanes that stand here
  kNamedBarrier,   ///< operand: its number; value: threads it waits for, 0 for all
  kReduceXor,
  kLockstep,       ///< mask: the place in the text: lanes go on together from the first where any stands; operand: 0
  kNothing = 64    ///< runnable
};

struct ThreadState {
  std::uint32_t thread[3], block[3], block_size[3], grid_size[3];
  const LaunchFrame* frame;
  Wait kind;
  std::uint32_t mask;    ///< lanes that take part in a warp's operation
  std::uint64_t value;   ///< in: what the thread brings; out: what it gets
  std::int32_t operand;
  std::uint32_t place;   ///< of a fiber: the low half of the address that its wait returns to
};
static_assert(sizeof(ThreadState) == 80 && offsetof(ThreadState, frame) == 48 && offsetof(ThreadState, value) == 64);

}  // namespace damo::cpu_backend
