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

// The members of a group, by their numbers in the block: the first, and who comes after one that is a member.
constexpr unsigned kNone = ~0u;
struct Lanes {
  unsigned mask;
  __device__ inline unsigned first() const { return (thread_block::thread_rank() & ~31u) + unsigned(__builtin_ctz(mask)); }
  __device__ inline unsigned after(unsigned thread) const {
    const unsigned left = mask & (~1u << (thread & 31u));
    return left == 0 ? kNone : (thread & ~31u) + unsigned(__builtin_ctz(left));
  }
  __device__ inline unsigned before(unsigned thread) const {
    const unsigned left = mask & ((1u << (thread & 31u)) - 1u);
    return left == 0 ? kNone : (thread & ~31u) + 31u - unsigned(__builtin_clz(left));
  }
};
template <unsigned Size>
struct Neighbours {
  __device__ inline unsigned first() const { return thread_block::thread_rank() & ~(Size - 1); }
  __device__ inline unsigned after(unsigned thread) const { return (thread + 1) % Size == 0 || thread + 1 == thread_block::size() ? kNone : thread + 1; }
  __device__ inline unsigned before(unsigned thread) const { return thread % Size == 0 ? kNone : thread - 1; }
};
__device__ inline Lanes members(const coalesced_group& group) { return {group.mask()}; }
template <unsigned Size>
__device__ inline Lanes members(const WarpTile<Size>& tile) { return {tile.mask()}; }
template <unsigned Size>
__device__ inline Neighbours<Size> members(const WideTile<Size>&) { return {}; }

}  // namespace details

// A group's first thread goes through all values: here an operation costs less than an exchange between threads does.
template <class Group, class T, class Op>
__device__ inline T reduce(const Group& group, T value, Op&& op) {
  using Places = details::Places<T>;
  const auto members = details::members(group);
  const unsigned own = thread_block::thread_rank(), first = members.first();
  Places::put(own, value);
  group.sync();
  if (own == first) {
    T other = value;
    for (unsigned at = members.after(own); at != details::kNone; at = members.after(at)) {
      Places::get(at, other);
      value = op(value, other);
    }
    Places::put(own, value);
  }
  group.sync();
  Places::get(first, value);
  group.sync();
  return value;
}

namespace details {

// Leaves in each member's place what it and those before it give.
template <class Group, class T, class Op>
__device__ inline void scan(const Group& group, T value, Op&& op) {
  const auto members = details::members(group);
  const unsigned own = thread_block::thread_rank();
  Places<T>::put(own, value);
  group.sync();
  if (own == members.first()) {
    T other = value;
    for (unsigned at = members.after(own); at != kNone; at = members.after(at)) {
      Places<T>::get(at, other);
      value = op(value, other);
      Places<T>::put(at, value);
    }
  }
  group.sync();
}

}  // namespace details

template <class Group, class T, class Op = plus<T>>
__device__ inline T inclusive_scan(const Group& group, T value, Op op = {}) {
  details::scan(group, value, op);
  details::Places<T>::get(thread_block::thread_rank(), value);
  group.sync();
  return value;
}
template <class Group, class T, class Op = plus<T>>
__device__ inline T exclusive_scan(const Group& group, T value, Op op = {}) {
  details::scan(group, value, op);
  const unsigned before = details::members(group).before(thread_block::thread_rank());
  value = T{};
  if (before != details::kNone) details::Places<T>::get(before, value);
  group.sync();
  return value;
}
template <class Group, class T, class Op>
__device__ inline void reduce_store_async(const Group& group, T* to, T value, Op&& op) {
  const T result = reduce(group, value, op);
  if (group.thread_rank() == 0) *to = result;
}

}  // namespace cooperative_groups
