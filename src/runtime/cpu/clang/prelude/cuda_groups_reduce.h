// <cooperative_groups/reduce.h> and <cooperative_groups/scan.h>: over tiles and coalesced threads, any type of up to 32
// bytes, any operator.
#pragma once
#include "cuda_groups.h"

namespace cooperative_groups {

#define __DAMO_OPERATOR(name, expression)                                                    \
  template <class T = void>                                                                  \
  struct name {                                                                              \
    template <class A>                                                                       \
    __device__ inline A operator()(A x, A y) const { return expression; }                    \
  };
__DAMO_OPERATOR(plus, x + y)
__DAMO_OPERATOR(less, y < x ? y : x)
__DAMO_OPERATOR(greater, x < y ? y : x)
__DAMO_OPERATOR(bit_and, x & y)
__DAMO_OPERATOR(bit_or, x | y)
__DAMO_OPERATOR(bit_xor, x ^ y)
#undef __DAMO_OPERATOR

// A tile's threads pair up; the result is the same in all of them.
template <unsigned Size, class Parent, class T, class Op>
__device__ inline T reduce(const thread_block_tile<Size, Parent>& group, T value, Op&& op) {
  for (int distance = Size / 2; distance > 0; distance /= 2) value = op(value, group.shfl_xor(value, distance));
  return value;
}
// By ranks, in five steps whatever the group's size: the groups of a warp take them together.
template <class T, class Op>
__device__ inline T reduce(const coalesced_group& group, T value, Op&& op) {
  const unsigned rank = group.thread_rank(), size = group.size();
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const T other = group.shfl(value, rank + distance < size ? rank + distance : rank);
    if (rank % (2 * distance) == 0 && rank + distance < size) value = op(value, other);
  }
  return group.shfl(value, 0);
}
template <class Group, class T, class Op>
__device__ inline T inclusive_scan(const Group& group, T value, Op&& op) {
  const unsigned rank = group.thread_rank();
  for (unsigned distance = 1; distance < group.size(); distance *= 2) {
    const T other = group.shfl_up(value, distance);
    if (rank >= distance) value = op(other, value);
  }
  return value;
}
template <class Group, class T>
__device__ inline T inclusive_scan(const Group& group, T value) { return inclusive_scan(group, value, plus<T>()); }
template <class Group, class T, class Op>
__device__ inline T exclusive_scan(const Group& group, T value, Op&& op) {
  const T before = group.shfl_up(inclusive_scan(group, value, op), 1);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
__device__ inline T exclusive_scan(const Group& group, T value) { return exclusive_scan(group, value, plus<T>()); }
template <class Group, class T, class Op>
__device__ inline void reduce_store_async(const Group& group, T* to, T value, Op&& op) {
  const T result = reduce(group, value, op);
  if (group.thread_rank() == 0) *to = result;
}

}  // namespace cooperative_groups
