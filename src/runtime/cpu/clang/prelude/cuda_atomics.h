// Atomic functions on global and shared memory, and fences. CUDA's are relaxed, but its compiler moves nothing across them, and
// locks rely on it: to a compiler these acquire and release, which on x86 costs no instruction. Each has its _block and _system form.
// Those of half and bfloat16: cuda_half.h. cuda::atomic: cuda_atomic.h.
#pragma once

namespace damo::cuda {

// old -> next(old), repeated until no other thread came between. Gives old.
template <class T, class F>
__device__ inline T update(T* p, F next) {
  T old = __atomic_load_n(p, __ATOMIC_ACQUIRE);
  while (!__atomic_compare_exchange_n(p, &old, next(old), true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
template <class T>
__device__ inline T exchange(T* p, T value) {
  T old;
  __atomic_exchange(p, &value, &old, __ATOMIC_ACQ_REL);
  return old;
}
template <class T>
__device__ inline T compare_and_swap(T* p, T expected, T value) {
  __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return expected;
}

}  // namespace damo::cuda

#define __DAMO_ATOMIC(T, name, ...)                                                 \
  __device__ inline T name(T* p, T v) { return __VA_ARGS__; }                       \
  __device__ inline T name##_block(T* p, T v) { return name(p, v); }                \
  __device__ inline T name##_system(T* p, T v) { return name(p, v); }
#define __DAMO_ATOMIC_SUM(T)                                                        \
  __DAMO_ATOMIC(T, atomicAdd, __atomic_fetch_add(p, v, __ATOMIC_ACQ_REL))           \
  __DAMO_ATOMIC(T, atomicExch, damo::cuda::exchange(p, v))
#define __DAMO_ATOMIC_INTEGER(T)                                                                  \
  __DAMO_ATOMIC_SUM(T)                                                                            \
  __DAMO_ATOMIC(T, atomicSub, __atomic_fetch_sub(p, v, __ATOMIC_ACQ_REL))                         \
  __DAMO_ATOMIC(T, atomicMin, __atomic_fetch_min(p, v, __ATOMIC_ACQ_REL))                         \
  __DAMO_ATOMIC(T, atomicMax, __atomic_fetch_max(p, v, __ATOMIC_ACQ_REL))                         \
  __DAMO_ATOMIC(T, atomicAnd, __atomic_fetch_and(p, v, __ATOMIC_ACQ_REL))                         \
  __DAMO_ATOMIC(T, atomicOr, __atomic_fetch_or(p, v, __ATOMIC_ACQ_REL))                           \
  __DAMO_ATOMIC(T, atomicXor, __atomic_fetch_xor(p, v, __ATOMIC_ACQ_REL))                         \
  __DAMO_ATOMIC_CAS(T)
#define __DAMO_ATOMIC_CAS(T)                                                                                    \
  __device__ inline T atomicCAS(T* p, T expected, T v) { return damo::cuda::compare_and_swap(p, expected, v); }   \
  __device__ inline T atomicCAS_block(T* p, T expected, T v) { return atomicCAS(p, expected, v); }              \
  __device__ inline T atomicCAS_system(T* p, T expected, T v) { return atomicCAS(p, expected, v); }
__DAMO_ATOMIC_INTEGER(int)
__DAMO_ATOMIC_INTEGER(unsigned)
__DAMO_ATOMIC_INTEGER(long)
__DAMO_ATOMIC_INTEGER(unsigned long)
__DAMO_ATOMIC_INTEGER(long long)
__DAMO_ATOMIC_INTEGER(unsigned long long)
__DAMO_ATOMIC_SUM(float)
__DAMO_ATOMIC_SUM(double)
__DAMO_ATOMIC_CAS(unsigned short)
__DAMO_ATOMIC(unsigned, atomicInc, damo::cuda::update(p, [v](unsigned old) { return old >= v ? 0u : old + 1u; }))
__DAMO_ATOMIC(unsigned, atomicDec, damo::cuda::update(p, [v](unsigned old) { return old == 0 || old > v ? v : old - 1u; }))
__DAMO_ATOMIC(float2, atomicAdd, {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)})
__DAMO_ATOMIC(float4, atomicAdd,
              {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z), atomicAdd(&p->w, v.w)})
#undef __DAMO_ATOMIC
#undef __DAMO_ATOMIC_SUM
#undef __DAMO_ATOMIC_INTEGER
#undef __DAMO_ATOMIC_CAS

__device__ inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
