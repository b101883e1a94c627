// Atomic functions on global and shared memory, and fences. CUDA's are relaxed, but its compiler moves nothing across them, and
// locks rely on it: to a compiler these acquire and release, which on x86 costs no instruction. Each has its _block and _system form.
// Those of half and bfloat16: cuda_half.h. cuda::atomic: cuda_atomic.h.
#pragma once

namespace damo::cuda {

// old -> next(old), repeated until no other thread came between. Gives old.
template <class T, class F>
__device__ inline __remove_cv(T) update(T* p, F next) {
  __remove_cv(T) old, result;
  __atomic_load(p, &old, __ATOMIC_SEQ_CST);
  do result = next(old);
  while (!__atomic_compare_exchange(p, &old, &result, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
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
#define __DAMO_ATOMIC_FETCH(T, Name, name) __DAMO_ATOMIC(T, atomic##Name, __atomic_fetch_##name(p, v, __ATOMIC_ACQ_REL))
#define __DAMO_ATOMIC_SUM(T)                                                        \
  __DAMO_ATOMIC_FETCH(T, Add, add) __DAMO_ATOMIC(T, atomicExch, damo::cuda::exchange(p, v))
#define __DAMO_ATOMIC_INTEGER(T)                                                    \
  __DAMO_ATOMIC_SUM(T) __DAMO_ATOMIC_CAS(T) __DAMO_ATOMIC_FETCH(T, Sub, sub)        \
  __DAMO_ATOMIC_FETCH(T, Min, min) __DAMO_ATOMIC_FETCH(T, Max, max)                 \
  __DAMO_ATOMIC_FETCH(T, And, and) __DAMO_ATOMIC_FETCH(T, Or, or) __DAMO_ATOMIC_FETCH(T, Xor, xor)
#define __DAMO_ATOMIC_CAS(T)                                                                                    \
  __device__ inline T atomicCAS(T* p, T expected, T v) { return damo::cuda::compare_and_swap(p, expected, v); }   \
  __device__ inline T atomicCAS_block(T* p, T expected, T v) { return atomicCAS(p, expected, v); }              \
  __device__ inline T atomicCAS_system(T* p, T expected, T v) { return atomicCAS(p, expected, v); }
__DAMO_ATOMIC_INTEGER(int) __DAMO_ATOMIC_INTEGER(long) __DAMO_ATOMIC_INTEGER(long long)
__DAMO_ATOMIC_INTEGER(unsigned) __DAMO_ATOMIC_INTEGER(unsigned long) __DAMO_ATOMIC_INTEGER(unsigned long long)
__DAMO_ATOMIC_SUM(float) __DAMO_ATOMIC_SUM(double) __DAMO_ATOMIC_CAS(unsigned short)
__DAMO_ATOMIC(unsigned, atomicInc, damo::cuda::update(p, [v](unsigned old) { return old >= v ? 0u : old + 1u; }))
__DAMO_ATOMIC(unsigned, atomicDec, damo::cuda::update(p, [v](unsigned old) { return old == 0 || old > v ? v : old - 1u; }))
__DAMO_ATOMIC(float2, atomicAdd, {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)})
__DAMO_ATOMIC(float4, atomicAdd,
              {atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y), atomicAdd(&p->z, v.z), atomicAdd(&p->w, v.w)})

// The compiler's own atomic operations (CUDA 12.8). Here all are sequentially consistent and seen by all threads: as strong
// as any order and scope that can be asked for.
enum { __NV_ATOMIC_RELAXED, __NV_ATOMIC_CONSUME, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELEASE, __NV_ATOMIC_ACQ_REL, __NV_ATOMIC_SEQ_CST };
enum {
  __NV_THREAD_SCOPE_THREAD, __NV_THREAD_SCOPE_BLOCK, __NV_THREAD_SCOPE_CLUSTER, __NV_THREAD_SCOPE_DEVICE, __NV_THREAD_SCOPE_SYSTEM
};
#define __DAMO_ORDER int, int = __NV_THREAD_SCOPE_SYSTEM
template <class T> __device__ inline void __nv_atomic_load(const T* p, __remove_cv(T)* to, __DAMO_ORDER) {
  __atomic_load(const_cast<T*>(p), to, __ATOMIC_SEQ_CST);
}
template <class T> __device__ inline __remove_cv(T) __nv_atomic_load_n(const T* p, __DAMO_ORDER) {
  __remove_cv(T) value;
  __nv_atomic_load(p, &value, 0);
  return value;
}
template <class T> __device__ inline void __nv_atomic_store_n(T* p, damo::cuda::same<__remove_cv(T)> v, __DAMO_ORDER) {
  __atomic_store(p, &v, __ATOMIC_SEQ_CST);
}
template <class T> __device__ inline void __nv_atomic_store(T* p, const __remove_cv(T)* v, __DAMO_ORDER) { __nv_atomic_store_n(p, *v, 0); }
template <class T> __device__ inline void __nv_atomic_exchange(T* p, const __remove_cv(T)* v, __remove_cv(T)* old, __DAMO_ORDER) {
  auto value = *v;
  __atomic_exchange(p, &value, old, __ATOMIC_SEQ_CST);
}
template <class T> __device__ inline __remove_cv(T) __nv_atomic_exchange_n(T* p, damo::cuda::same<__remove_cv(T)> v, __DAMO_ORDER) {
  __remove_cv(T) old;
  __nv_atomic_exchange(p, &v, &old, 0);
  return old;
}
template <class T>
__device__ inline bool __nv_atomic_compare_exchange(T* p, __remove_cv(T)* expected, const __remove_cv(T)* v, bool, int, __DAMO_ORDER) {
  auto value = *v;
  return __atomic_compare_exchange(p, expected, &value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
template <class T>
__device__ inline bool __nv_atomic_compare_exchange_n(T* p, __remove_cv(T)* expected, damo::cuda::same<__remove_cv(T)> v, bool, int, __DAMO_ORDER) {
  return __nv_atomic_compare_exchange(p, expected, &v, false, 0, 0);
}
#define __DAMO_FETCH(name, next)                                                                                      \
  template <class T>                                                                                                  \
  __device__ inline __remove_cv(T) __nv_atomic_fetch_##name(T* p, damo::cuda::same<__remove_cv(T)> v, __DAMO_ORDER) { \
    using V = __remove_cv(T);                                                                                         \
    if constexpr (__is_integral(V)) return __atomic_fetch_##name(p, v, __ATOMIC_SEQ_CST);                             \
    else return damo::cuda::update(p, [v](V old) { return next; });                                                   \
  }                                                                                                                   \
  template <class T>                                                                                                  \
  __device__ inline void __nv_atomic_##name(T* p, damo::cuda::same<__remove_cv(T)> v, __DAMO_ORDER) {                 \
    __nv_atomic_fetch_##name(p, v, 0);                                                                                \
  }
__DAMO_FETCH(add, V(old + v)) __DAMO_FETCH(sub, V(old - v)) __DAMO_FETCH(and, V(old & v)) __DAMO_FETCH(or, V(old | v))
__DAMO_FETCH(xor, V(old ^ v)) __DAMO_FETCH(min, v < old ? v : old) __DAMO_FETCH(max, old < v ? v : old)
#undef __DAMO_FETCH
__device__ inline void __nv_atomic_thread_fence(__DAMO_ORDER) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

__device__ inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
