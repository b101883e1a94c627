// <cooperative_groups/memcpy_async.h>: the group's threads copy a share each, at once; wait() is the group's sync().
#pragma once
#include "cuda_groups.h"

namespace damo::cuda {
// count elements by size() threads of which the caller is number rank.
template <class T>
__device__ inline void share_of_copy(T* to, const T* from, size_t count, unsigned long long rank, unsigned long long size) {
  for (size_t i = rank; i < count; i += size) to[i] = from[i];
}
}  // namespace damo::cuda

namespace cooperative_groups {

template <class Group>
__device__ inline void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  damo::cuda::share_of_copy((unsigned char*)to, (const unsigned char*)from, bytes, group.thread_rank(), group.size());
}
template <class Group, class T>
__device__ inline void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
  damo::cuda::share_of_copy(to, from, to_count < from_count ? to_count : from_count, group.thread_rank(), group.size());
}
template <class Group>
__device__ inline void wait(const Group& group) { group.sync(); }
template <unsigned Stages, class Group>
__device__ inline void wait_prior(const Group& group) { group.sync(); }

}  // namespace cooperative_groups
