// <cuda/atomic> and <atomic>: atomic and atomic_ref over integers, floating point and pointers. The scope is a promise to
// a GPU's caches and has no meaning here; the order has its usual one.
#pragma once
#include "cuda_atomics.h"
#include "cuda_std.h"

namespace damo::cuda {

// What both have, on the value where Self says that it is.
template <class Self, class T>
class AtomicOperations {
 public:
  using value_type = T;
  __device__ inline T load(int order = __ATOMIC_SEQ_CST) const { T v; __atomic_load(p(), &v, order); return v; }
  __device__ inline void store(T v, int order = __ATOMIC_SEQ_CST) const { __atomic_store(p(), &v, order); }
  __device__ inline T exchange(T v, int order = __ATOMIC_SEQ_CST) const { T old; __atomic_exchange(p(), &v, &old, order); return old; }
  __device__ inline bool compare_exchange_strong(T& expected, T v, int = 0, int = 0) const {
    return __atomic_compare_exchange(p(), &expected, &v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  __device__ inline bool compare_exchange_weak(T& expected, T v, int = 0, int = 0) const { return compare_exchange_strong(expected, v); }
#define __DAMO_FETCH(name) __device__ inline T name(T v, int = 0) const { return __atomic_##name(p(), v, __ATOMIC_SEQ_CST); }
  __DAMO_FETCH(fetch_add) __DAMO_FETCH(fetch_sub) __DAMO_FETCH(fetch_min) __DAMO_FETCH(fetch_max)
  __DAMO_FETCH(fetch_and) __DAMO_FETCH(fetch_or) __DAMO_FETCH(fetch_xor)
#undef __DAMO_FETCH
  __device__ inline operator T() const { return load(); }
  __device__ inline T operator=(T v) const { store(v); return v; }
  __device__ inline T operator++() const { return fetch_add(1) + 1; }
  __device__ inline T operator--() const { return fetch_sub(1) - 1; }
  __device__ inline T operator++(int) const { return fetch_add(1); }
  __device__ inline T operator--(int) const { return fetch_sub(1); }
  __device__ inline T operator+=(T v) const { return fetch_add(v) + v; }
  __device__ inline T operator-=(T v) const { return fetch_sub(v) - v; }
  __device__ inline T operator&=(T v) const { return fetch_and(v) & v; }
  __device__ inline T operator|=(T v) const { return fetch_or(v) | v; }
  __device__ inline T operator^=(T v) const { return fetch_xor(v) ^ v; }
  __device__ inline bool is_lock_free() const { return true; }

 private:
  __device__ inline T* p() const { return static_cast<const Self*>(this)->place(); }
};

}  // namespace damo::cuda

namespace std {
enum memory_order : int {
  memory_order_relaxed = __ATOMIC_RELAXED, memory_order_consume = __ATOMIC_CONSUME, memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE, memory_order_acq_rel = __ATOMIC_ACQ_REL, memory_order_seq_cst = __ATOMIC_SEQ_CST
};
template <class T>
class atomic : public damo::cuda::AtomicOperations<atomic<T>, T> {
 public:
  atomic() = default;
  __device__ inline atomic(T v) : value_(v) {}
  atomic(const atomic&) = delete;
  using damo::cuda::AtomicOperations<atomic, T>::operator=;
  __device__ inline T* place() const { return const_cast<T*>(&value_); }

 private:
  T value_;
};
template <class T>
class atomic_ref : public damo::cuda::AtomicOperations<atomic_ref<T>, T> {
 public:
  __device__ inline explicit atomic_ref(T& object) : p_(&object) {}
  using damo::cuda::AtomicOperations<atomic_ref, T>::operator=;
  __device__ inline T* place() const { return p_; }

 private:
  T* p_;
};
__device__ inline void atomic_thread_fence(memory_order) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
}  // namespace std

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
using ::std::memory_order;
using enum ::std::memory_order;
template <class T, thread_scope Scope = thread_scope_system>
struct atomic : ::std::atomic<T> {
  using ::std::atomic<T>::atomic;
  using ::std::atomic<T>::operator=;
};
template <class T, thread_scope Scope = thread_scope_system>
struct atomic_ref : ::std::atomic_ref<T> {
  using ::std::atomic_ref<T>::atomic_ref;
  using ::std::atomic_ref<T>::operator=;
};
__device__ inline void atomic_thread_fence(memory_order, thread_scope = thread_scope_system) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
}  // namespace cuda
