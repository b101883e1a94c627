// What one thread of a CUDA C block knows and says: where it stands, and, when it waits, for what. Compiled code and the
// scheduler both read and write it. This is its one description: the runtime (runtime/cpu/kernel_abi.hpp) and CUDA C's
// prelude (cuda_c.h) include it, each in a namespace of its own that has a LaunchFrame.

/// What a thread waits for: the first argument of the prelude's __damo_wait.
enum class Wait : int {
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
  unsigned thread[3], block[3], block_size[3], grid_size[3];  ///< the markers' order (markers.hpp)
  const LaunchFrame* frame;
  Wait kind;
  unsigned mask;        ///< lanes that take part in a warp's operation
  unsigned long value;  ///< in: what the thread brings; out: what it gets
  int operand;
  unsigned place;       ///< of a fiber: the low half of the address that its wait returns to
};
