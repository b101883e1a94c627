// <cuda_pipeline.h>, <cuda/pipeline>, <cuda/barrier>: asynchronous copies as copies made at once. What is left of waiting
// for them is that the threads of a block wait for each other.
#pragma once
#include "cuda_groups.h"
#include "cuda_atomic.h"

__device__ inline void __pipeline_memcpy_async(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  __builtin_memcpy(to, from, bytes - zeros);
  __builtin_memset((char*)to + (bytes - zeros), 0, zeros);
}
__device__ inline void __pipeline_commit() {}
__device__ inline void __pipeline_wait_prior(size_t) {}

namespace cuda {

template <thread_scope Scope, unsigned char Stages>
class pipeline_shared_state {};

// A thread's own pipeline waits for nobody; a block's keeps its threads together where a stage changes hands.
template <thread_scope Scope>
class pipeline {
 public:
  __device__ inline void producer_acquire() {}
  __device__ inline void producer_commit() {}
  __device__ inline void consumer_wait() { meet(); }
  __device__ inline void consumer_release() { meet(); }
  __device__ inline bool quit() { return true; }

 private:
  __device__ inline void meet() { if constexpr (Scope != thread_scope_thread) __syncthreads(); }
};
__device__ inline pipeline<thread_scope_thread> make_pipeline() { return {}; }
template <class Group, thread_scope Scope, unsigned char Stages>
__device__ inline pipeline<Scope> make_pipeline(const Group&, pipeline_shared_state<Scope, Stages>*) { return {}; }
template <unsigned char Prior>
__device__ inline void pipeline_consumer_wait_prior(pipeline<thread_scope_thread>&) {}

// A barrier of count arrivals: the last one opens the next phase. Waiting is looking again each time that the warp's
// other threads have had their turn.
template <thread_scope Scope = thread_scope_system>
class barrier {
 public:
  using arrival_token = unsigned;
  barrier() = default;
  __device__ inline explicit barrier(int count) { start(count); }
  __device__ inline void start(int count) { expected_ = pending_ = count, phase_ = 0; }
  __device__ inline arrival_token arrive(int count = 1) {
    const unsigned phase = __atomic_load_n(&phase_, __ATOMIC_ACQUIRE);
    if (__atomic_fetch_sub(&pending_, count, __ATOMIC_ACQ_REL) == count) {
      __atomic_store_n(&pending_, expected_, __ATOMIC_RELAXED);
      __atomic_store_n(&phase_, phase + 1, __ATOMIC_RELEASE);
    }
    return phase;
  }
  __device__ inline void wait(arrival_token phase) const { while (__atomic_load_n(&phase_, __ATOMIC_ACQUIRE) == phase) __activemask(); }
  __device__ inline void arrive_and_wait() { wait(arrive()); }
  __device__ inline void arrive_and_drop() {
    __atomic_fetch_sub(&expected_, 1, __ATOMIC_ACQ_REL);
    arrive();
  }

 private:
  int expected_, pending_;
  unsigned phase_;
};
template <thread_scope Scope>
__device__ inline void init(barrier<Scope>* b, int count) { b->start(count); }

template <size_t Alignment>
struct aligned_size_t {
  size_t value;
  __device__ inline explicit aligned_size_t(size_t bytes) : value(bytes) {}
  __device__ inline operator size_t() const { return value; }
};
template <class Sync>
__device__ inline void memcpy_async(void* to, const void* from, size_t bytes, Sync&) { __builtin_memcpy(to, from, bytes); }
template <class Group, class Sync>
__device__ inline void memcpy_async(const Group& group, void* to, const void* from, size_t bytes, Sync&) {
  ::cooperative_groups::memcpy_async(group, to, from, bytes);
}

}  // namespace cuda
namespace cuda::std {
using ::cuda::barrier;
}
