// CUDA C on the CPU: what one thread of a block does with the others, and with the outside. Everything that waits is one
// marker, __damo_wait; lower_cuda.cpp gives it its meaning, runtime/cpu/kernel_abi.hpp lists the kinds.
#pragma once

// Suspends the thread until the others of its block or warp that must take part have arrived. operand: of a shuffle the
// lane to read, of a named barrier its number; else 0.
extern "C" __device__ __attribute__((convergent, nothrow)) unsigned long __damo_wait(int kind, unsigned mask,
                                                                                    unsigned long value, int operand);
extern "C" {
__device__ __attribute__((nothrow)) int printf(const char*, ...);
__device__ __attribute__((nothrow)) void* malloc(size_t);
__device__ __attribute__((nothrow)) void free(void*);
__device__ __attribute__((nothrow)) long long damo_kernel_clock(void);
__device__ __attribute__((nothrow, noreturn)) void damo_kernel_trap(void);
__device__ __attribute__((nothrow, noreturn)) void damo_kernel_assert(const char*, const char*, const char*, unsigned);
}

// ---- the block ----------------------------------------------------------------------------------------------------
__device__ inline void __syncthreads() { __damo_wait(0, 0, 0, 0); }
__device__ inline int __syncthreads_count(int p) { return int(__damo_wait(1, 0, p != 0, 0)); }
__device__ inline int __syncthreads_and(int p) { return int(__damo_wait(2, 0, p != 0, 0)); }
__device__ inline int __syncthreads_or(int p) { return int(__damo_wait(3, 0, p != 0, 0)); }
__device__ inline void __barrier_sync(unsigned id) { __damo_wait(17, 0, 0, int(id)); }
__device__ inline void __barrier_sync_count(unsigned id, unsigned count) { __damo_wait(17, 0, count, int(id)); }

// ---- the warp -----------------------------------------------------------------------------------------------------
namespace damo::cuda {

__device__ inline unsigned thread_in_block() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ inline int lane() { return int(thread_in_block() & 31u); }

template <class T>
__device__ inline T exchange(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 32, "a shuffle moves up to 32 bytes");
  // No loop over words: its end would not be known to be the same for all threads.
  unsigned long words[(sizeof(T) + 7) / 8] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  words[0] = __damo_wait(5, mask, words[0], source);
  if constexpr (sizeof(T) > 8) words[1] = __damo_wait(5, mask, words[1], source);
  if constexpr (sizeof(T) > 16) words[2] = __damo_wait(5, mask, words[2], source);
  if constexpr (sizeof(T) > 24) words[3] = __damo_wait(5, mask, words[3], source);
  __builtin_memcpy(&value, words, sizeof(T));
  return value;
}

}  // namespace damo::cuda

__device__ inline void __syncwarp(unsigned mask = 0xffffffffu) { __damo_wait(4, mask, 0, 0); }
// The lanes of a shuffle's segment end where width says; beyond it a thread reads itself. As in the PTX manual (shfl).
template <class T> __device__ inline T __shfl_sync(unsigned mask, T v, int source, int width = 32) {
  return damo::cuda::exchange(mask, v, (damo::cuda::lane() & -width) | (source & (width - 1)));
}
#define __DAMO_SHUFFLE(name, Distance, operation, is_outside)                                          \
  template <class T> __device__ inline T name(unsigned mask, T v, Distance distance, int width = 32) { \
    const int own = damo::cuda::lane(), source = own operation int(distance);                          \
    return damo::cuda::exchange(mask, v, is_outside ? own : source);                                   \
  }
__DAMO_SHUFFLE(__shfl_up_sync, unsigned, -, source < (own & -width))
__DAMO_SHUFFLE(__shfl_down_sync, unsigned, +, source > (own | (width - 1)))
__DAMO_SHUFFLE(__shfl_xor_sync, int, ^, source > (own | (width - 1)))
__device__ inline unsigned __activemask() { return unsigned(__damo_wait(16, 0, 0, 0)); }
__device__ inline unsigned __ballot_sync(unsigned mask, int p) { return unsigned(__damo_wait(6, mask, p != 0, 0)); }
__device__ inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
__device__ inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
__device__ inline int __uni_sync(unsigned mask, int p) {
  const unsigned set = __ballot_sync(mask, p);
  return set == 0 || set == mask;
}
template <class T> __device__ inline unsigned __match_any_sync(unsigned mask, T v) {
  static_assert(sizeof(T) <= 8);
  unsigned long word = 0;
  __builtin_memcpy(&word, &v, sizeof(T));
  return unsigned(__damo_wait(7, mask, word, 0));
}
template <class T> __device__ inline unsigned __match_all_sync(unsigned mask, T v, int* same) {
  static_assert(sizeof(T) <= 8);
  unsigned long word = 0;
  __builtin_memcpy(&word, &v, sizeof(T));
  const unsigned lanes = unsigned(__damo_wait(8, mask, word, 0));
  *same = lanes != 0;
  return lanes;
}
#define __DAMO_REDUCE(name, T, kind) \
  __device__ inline T name(unsigned mask, T v) { return T(__damo_wait(kind, mask, unsigned(v), 0)); }
__DAMO_REDUCE(__reduce_add_sync, unsigned, 9) __DAMO_REDUCE(__reduce_add_sync, int, 9)
__DAMO_REDUCE(__reduce_min_sync, unsigned, 10) __DAMO_REDUCE(__reduce_max_sync, unsigned, 11)
__DAMO_REDUCE(__reduce_min_sync, int, 12) __DAMO_REDUCE(__reduce_max_sync, int, 13)
__DAMO_REDUCE(__reduce_and_sync, unsigned, 14) __DAMO_REDUCE(__reduce_or_sync, unsigned, 15) __DAMO_REDUCE(__reduce_xor_sync, unsigned, 18)

// ---- the outside --------------------------------------------------------------------------------------------------
__device__ inline long long clock64() { return damo_kernel_clock(); }
__device__ inline long clock() { return long(damo_kernel_clock()); }
__device__ inline unsigned long long __globaltimer() { return (unsigned long long)damo_kernel_clock(); }
__device__ inline void __trap() { damo_kernel_trap(); }
__device__ inline void __brkpt() { damo_kernel_trap(); }
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : damo_kernel_assert(#condition, __FILE__, __PRETTY_FUNCTION__, (unsigned)__LINE__))
#endif
