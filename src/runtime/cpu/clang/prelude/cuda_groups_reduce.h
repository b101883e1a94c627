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

namespace details {

// A place for a value of each thread of the block.
template <class T>
struct Places {
  static_assert(sizeof(T) <= 32, "a reduction or scan takes up to 32 bytes");
  __device__ inline static unsigned char* of(unsigned thread) {
    __shared__ alignas(alignof(T)) unsigned char places[1024 * sizeof(T)];
    return places + thread * sizeof(T);
  }
  __device__ inline static void put(unsigned thread, const T& value) { __builtin_memcpy(of(thread), &value, sizeof(T)); }
  __device__ inline static void get(unsigned thread, T& value) { __builtin_memcpy(&value, of(thread), sizeof(T)); }
};

// The members of a group, by their numbers in the block: the last one, and who stands before one; itself, if none does.
template <bool ArePart>
struct Lanes {
  static constexpr bool kArePart = ArePart;
  unsigned mask;
  __device__ inline unsigned last() const { return (thread_block::thread_rank() | 31u) - unsigned(__builtin_clz(mask)); }
  __device__ inline unsigned before(unsigned thread) const {
    const unsigned left = mask & ((1u << (thread & 31u)) - 1u);
    return left == 0 ? thread : (thread | 31u) - unsigned(__builtin_clz(left));
  }
};
template <unsigned Size>
struct Neighbours {
  static constexpr bool kArePart = false;
  __device__ inline unsigned first() const { return thread_block::thread_rank() & ~(Size - 1); }
  __device__ inline unsigned last() const {
    const unsigned last = thread_block::thread_rank() | (Size - 1), end = thread_block::size();
    return last < end ? last : end - 1;
  }
  __device__ inline unsigned before(unsigned thread) const { return thread % Size == 0 ? thread : thread - 1; }
};
__device__ inline Lanes<false> members(const coalesced_group& group) { return {group.mask()}; }
__device__ inline Lanes<true> members(const coalesced_part& group) { return {group.mask()}; }
template <unsigned Size>
__device__ inline Neighbours<Size> members(const WarpTile<Size>&) { return {}; }
template <unsigned Size>
__device__ inline Neighbours<Size> members(const WideTile<Size>&) { return {}; }

// Every value in its member's place becomes what it and those before it give. The first member does it, whose value sum is, when all are
// there: here an operation costs less than an exchange between threads does.
template <unsigned Size, class T, class Op>
__device__ inline void accumulate(Neighbours<Size> members, T sum, Op& op) {
  if (thread_block::thread_rank() != members.first()) return;
  T value = sum;
  for (unsigned thread = members.first() + 1; thread <= members.last(); ++thread) {
    Places<T>::get(thread, value);
    sum = op(sum, value);
    Places<T>::put(thread, sum);
  }
}
// Where a warp's lanes are in several groups the first of all that are here does it for all: which lanes begin a group, and how many follow, no
// processor foresees.
struct Before {
  unsigned thread;
};
template <bool ArePart, class T, class Op>
__device__ inline void accumulate(Lanes<ArePart> members, T sum, Op& op) {
  const unsigned here = ArePart ? __activemask() : members.mask, own = thread_block::thread_rank();
  if ((own & 31u) != unsigned(__builtin_ctz(here))) return;
  T value = sum;
  for (unsigned left = here & (here - 1); left != 0; left &= left - 1) {
    const unsigned thread = (own & ~31u) + unsigned(__builtin_ctz(left));
    Before before{own};
    if (ArePart) Places<Before>::get(thread, before);
    Places<T>::get(thread, value);
    if (here != members.mask) Places<T>::get(before.thread, sum);
    sum = __builtin_unpredictable(before.thread == thread) ? value : op(sum, value);
    Places<T>::put(thread, sum);
  }
}
// take(members, own, value) reads from the places then what this thread gets, own being its number.
template <class Group, class T, class Op, class Take>
__device__ inline T scan(const Group& group, T value, Op&& op, Take take) {
  const auto members = details::members(group);
  const unsigned own = thread_block::thread_rank();
  Places<T>::put(own, value);
  if constexpr (members.kArePart) Places<Before>::put(own, {members.before(own)});
  group.sync();
  accumulate(members, value, op);
  group.sync();
  take(members, own, value);
  group.sync();
  return value;
}

}  // namespace details

template <class Group, class T, class Op>
__device__ inline T reduce(const Group& group, T value, Op&& op) {
  return details::scan(group, value, op, [](auto members, unsigned, T& result) { details::Places<T>::get(members.last(), result); });
}
template <class Group, class T, class Op = plus<T>>
__device__ inline T inclusive_scan(const Group& group, T value, Op op = {}) {
  return details::scan(group, value, op, [](auto, unsigned own, T& result) { details::Places<T>::get(own, result); });
}
template <class Group, class T, class Op = plus<T>>
__device__ inline T exclusive_scan(const Group& group, T value, Op op = {}) {
  return details::scan(group, value, op, [](auto members, unsigned own, T& result) {
    const unsigned before = members.before(own);
    result = T{};
    if (before != own) details::Places<T>::get(before, result);
  });
}
template <class Group, class T, class Op>
__device__ inline void reduce_store_async(const Group& group, T* to, T value, Op&& op) {
  const T result = reduce(group, value, op);
  if (group.thread_rank() == 0) *to = result;
}

}  // namespace cooperative_groups
