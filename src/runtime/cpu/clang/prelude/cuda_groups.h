// <cooperative_groups.h> on the CPU: the block, tiles of up to 512 threads, coalesced threads, a grid without sync(), and copies.
// Everything that waits is cuda_sync.h's.
#pragma once
#include "cuda_math.h"
#include "cuda_intrinsics.h"

namespace cooperative_groups {

#define __DAMO_GROUP __device__ inline

namespace details {
__DAMO_GROUP unsigned lane() { return unsigned(damo::cuda::lane()); }
__DAMO_GROUP unsigned lanes_below() { return (1u << lane()) - 1u; }
}  // namespace details

class thread_block {
 public:
  __DAMO_GROUP static void sync() { __syncthreads(); }
  struct arrival_token {};
  __DAMO_GROUP static arrival_token barrier_arrive() { return {}; }
  __DAMO_GROUP static void barrier_wait(arrival_token = {}) { __syncthreads(); }
  __DAMO_GROUP static unsigned thread_rank() { return damo::cuda::thread_in_block(); }
  __DAMO_GROUP static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
  __DAMO_GROUP static unsigned num_threads() { return size(); }
  __DAMO_GROUP static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  __DAMO_GROUP static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  __DAMO_GROUP static dim3 group_dim() { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  __DAMO_GROUP static dim3 dim_threads() { return group_dim(); }
};
__DAMO_GROUP thread_block this_thread_block() { return {}; }
// What the threads of a tile of several warps pass through: here they have a place of their own (WideTile).
template <unsigned MaxBlockSize = 1024>
struct block_tile_memory {
  unsigned char reserved;
};
template <unsigned MaxBlockSize>
__DAMO_GROUP thread_block this_thread_block(block_tile_memory<MaxBlockSize>&) { return {}; }

class coalesced_group {
 public:
  __DAMO_GROUP explicit coalesced_group(unsigned mask, unsigned rank = 0, unsigned groups = 1) : mask_(mask), rank_(rank), groups_(groups) {}
  __DAMO_GROUP void sync() const { __syncwarp(mask_); }
  __DAMO_GROUP unsigned size() const { return unsigned(__popc(mask_)); }
  __DAMO_GROUP unsigned num_threads() const { return size(); }
  __DAMO_GROUP unsigned thread_rank() const { return unsigned(__popc(mask_ & details::lanes_below())); }
  __DAMO_GROUP unsigned meta_group_rank() const { return rank_; }
  __DAMO_GROUP unsigned meta_group_size() const { return groups_; }
  __DAMO_GROUP int any(int p) const { return __any_sync(mask_, p); }
  __DAMO_GROUP int all(int p) const { return __all_sync(mask_, p); }
  __DAMO_GROUP unsigned ballot(int p) const { return packed(__ballot_sync(mask_, p)); }
  template <class T> __DAMO_GROUP unsigned match_any(T v) const { return packed(__match_any_sync(mask_, v)); }
  template <class T> __DAMO_GROUP unsigned match_all(T v, int& same) const { return packed(__match_all_sync(mask_, v, &same)); }
  template <class T> __DAMO_GROUP T shfl(T v, unsigned rank) const { return damo::cuda::exchange(mask_, v, lane_of(rank % size())); }
  template <class T> __DAMO_GROUP T shfl_up(T v, unsigned delta) const {
    const unsigned rank = thread_rank();
    return damo::cuda::exchange(mask_, v, lane_of(rank < delta ? rank : rank - delta));
  }
  template <class T> __DAMO_GROUP T shfl_down(T v, unsigned delta) const {
    const unsigned rank = thread_rank();
    return damo::cuda::exchange(mask_, v, lane_of(rank + delta < size() ? rank + delta : rank));
  }
  __DAMO_GROUP unsigned mask() const { return mask_; }

 private:
  // The lane with so many of the group's below it: halves of what is left of the warp, without a branch.
  __DAMO_GROUP int lane_of(unsigned rank) const {
    unsigned lane = 0, left = rank;
    for (unsigned half = 16; half > 0; half /= 2) {
      const unsigned below = unsigned(__popc(mask_ >> lane & ((1u << half) - 1u)));
      lane += left >= below ? half : 0;
      left -= left >= below ? below : 0;
    }
    return int(lane);
  }
  // Bits of lanes, as bits of ranks.
  __DAMO_GROUP unsigned packed(unsigned lanes) const {
    unsigned result = 0, rank = 0;
    for (int lane = 0; lane < 32; ++lane) {
      if (mask_ >> lane & 1) result |= (lanes >> lane & 1) << rank++;
    }
    return result;
  }
  unsigned mask_, rank_, groups_;
};
// Beside which there are groups of other lanes of its warp, which do the same: see cuda_groups_reduce.h.
struct coalesced_part : coalesced_group {
  using coalesced_group::coalesced_group;
};
__DAMO_GROUP coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }

// A tile of several warps: values go through memory of the block, between two barriers of the tile's own.
template <unsigned Size>
class WideTile {
 public:
  __DAMO_GROUP static unsigned thread_rank() { return thread_block::thread_rank() % Size; }
  __DAMO_GROUP static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  __DAMO_GROUP static void sync() { __barrier_sync_count(1 + meta_group_rank(), Size); }
  template <class T> __DAMO_GROUP static T exchange(T value, unsigned source) {
    static_assert(sizeof(T) <= 32, "a shuffle moves up to 32 bytes");
    __shared__ unsigned long places[1024];
    unsigned long words[(sizeof(T) + 7) / 8] = {};
    __builtin_memcpy(words, &value, sizeof(T));
    for (unsigned i = 0; i < (sizeof(T) + 7) / 8; ++i) {
      places[thread_block::thread_rank()] = words[i];
      sync();
      words[i] = places[meta_group_rank() * Size + source];
      sync();
    }
    __builtin_memcpy(&value, words, sizeof(T));
    return value;
  }
  template <class T> __DAMO_GROUP static T shfl(T v, unsigned rank) { return exchange(v, rank % Size); }
  template <class T> __DAMO_GROUP static T shfl_xor(T v, unsigned ranks) { return exchange(v, (thread_rank() ^ ranks) % Size); }
  template <class T> __DAMO_GROUP static T shfl_up(T v, unsigned delta) { return exchange(v, thread_rank() < delta ? thread_rank() : thread_rank() - delta); }
  template <class T> __DAMO_GROUP static T shfl_down(T v, unsigned delta) {
    return exchange(v, thread_rank() + delta < Size ? thread_rank() + delta : thread_rank());
  }
  __DAMO_GROUP static int any(int p) {
    unsigned found = p != 0;
    for (unsigned distance = Size / 2; distance > 0; distance /= 2) found |= shfl_xor(found, distance);
    return int(found);
  }
  __DAMO_GROUP static int all(int p) { return !any(!p); }
};

template <unsigned Size>
class WarpTile {
 public:
  __DAMO_GROUP void sync() const { __syncwarp(mask()); }
  __DAMO_GROUP static unsigned thread_rank() { return details::lane() & (Size - 1); }
  __DAMO_GROUP static unsigned meta_group_rank() { return thread_block::thread_rank() / Size; }
  __DAMO_GROUP int any(int p) const { return __any_sync(mask(), p); }
  __DAMO_GROUP int all(int p) const { return __all_sync(mask(), p); }
  __DAMO_GROUP unsigned ballot(int p) const { return __ballot_sync(mask(), p) >> first(); }
  template <class T> __DAMO_GROUP unsigned match_any(T v) const { return __match_any_sync(mask(), v) >> first(); }
  template <class T> __DAMO_GROUP unsigned match_all(T v, int& same) const { return __match_all_sync(mask(), v, &same) >> first(); }
  template <class T> __DAMO_GROUP T shfl(T v, int rank) const { return __shfl_sync(mask(), v, rank, Size); }
  template <class T> __DAMO_GROUP T shfl_up(T v, unsigned delta) const { return __shfl_up_sync(mask(), v, delta, Size); }
  template <class T> __DAMO_GROUP T shfl_down(T v, unsigned delta) const { return __shfl_down_sync(mask(), v, delta, Size); }
  template <class T> __DAMO_GROUP T shfl_xor(T v, int lanes) const { return __shfl_xor_sync(mask(), v, lanes, Size); }
  // Of this tile, in the lanes of the warp; a block's last warp may be short.
  __DAMO_GROUP static unsigned mask() {
    const unsigned left = thread_block::size() - (thread_block::thread_rank() & ~31u);
    const unsigned present = left >= 32 ? ~0u : (1u << left) - 1u;
    return (Size == 32 ? ~0u : ((1u << (Size & 31)) - 1u) << first()) & present;
  }

 private:
  __DAMO_GROUP static unsigned first() { return details::lane() & ~(Size - 1); }
};

template <unsigned Size, class Parent = void>
class thread_block_tile : public __type_pack_element<(Size > 32 ? 1 : 0), WarpTile<Size>, WideTile<Size>> {
  static_assert(Size <= 512 && (Size & (Size - 1)) == 0, "a tile has 1, 2, 4 ... 512 threads");

 public:
  thread_block_tile() = default;
  template <class Other>
  __DAMO_GROUP thread_block_tile(const thread_block_tile<Size, Other>&) {}
  __DAMO_GROUP static constexpr unsigned size() { return Size; }
  __DAMO_GROUP static constexpr unsigned num_threads() { return Size; }
  __DAMO_GROUP static unsigned meta_group_size() { return (thread_block::size() + Size - 1) / Size; }
};
template <unsigned Size, class Group>
__DAMO_GROUP thread_block_tile<Size, Group> tiled_partition(const Group&) { return {}; }

// Any of the above, its kind known at run time only.
class thread_group {
 public:
  __DAMO_GROUP thread_group(const thread_block&) : lanes_(0) {}
  __DAMO_GROUP thread_group(const coalesced_group& group) : lanes_(group.mask()) {}
  template <unsigned Size, class Parent>
  __DAMO_GROUP thread_group(const thread_block_tile<Size, Parent>& tile) : lanes_(tile.mask()) {}
  __DAMO_GROUP void sync() const { is_block() ? __syncthreads() : lanes_.sync(); }
  __DAMO_GROUP unsigned size() const { return is_block() ? thread_block::size() : lanes_.size(); }
  __DAMO_GROUP unsigned num_threads() const { return size(); }
  __DAMO_GROUP unsigned thread_rank() const { return is_block() ? thread_block::thread_rank() : lanes_.thread_rank(); }

 private:
  __DAMO_GROUP bool is_block() const { return lanes_.mask() == 0; }
  coalesced_group lanes_;
};
__DAMO_GROUP thread_group this_thread() { return coalesced_group(1u << details::lane()); }
template <class Group>
__DAMO_GROUP thread_group tiled_partition(const Group&, unsigned size) {
  return coalesced_group(size >= 32 ? ~0u : ((1u << size) - 1u) << details::lane() / size * size);
}
template <class Group>
__DAMO_GROUP coalesced_part binary_partition(const Group& group, bool p) {
  const unsigned all = group.mask(), set = __ballot_sync(all, p);
  return coalesced_part(p ? set : all & ~set, p ? 0 : 1, 2);
}
template <class Group, class T>
__DAMO_GROUP coalesced_part labeled_partition(const Group& group, T label) {
  return coalesced_part(__match_any_sync(group.mask(), label));
}

class grid_group {
 public:
  __attribute__((unavailable("synchronising a whole grid is not supported on the CPU"))) __DAMO_GROUP void sync() const {}
  __DAMO_GROUP static bool is_valid() { return false; }
  __DAMO_GROUP static dim3 grid_dim() { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  __DAMO_GROUP static dim3 dim_blocks() { return grid_dim(); }
  __DAMO_GROUP static dim3 block_index() { return thread_block::group_index(); }
  __DAMO_GROUP static unsigned long long num_blocks() { return (unsigned long long)gridDim.x * gridDim.y * gridDim.z; }
  __DAMO_GROUP static unsigned long long block_rank() {
    return blockIdx.x + (unsigned long long)gridDim.x * (blockIdx.y + (unsigned long long)gridDim.y * blockIdx.z);
  }
  __DAMO_GROUP static unsigned long long thread_rank() { return block_rank() * thread_block::size() + thread_block::thread_rank(); }
  __DAMO_GROUP static unsigned long long size() { return num_blocks() * thread_block::size(); }
  __DAMO_GROUP static unsigned long long num_threads() { return size(); }
};
__DAMO_GROUP grid_group this_grid() { return {}; }
class cluster_group {};
__attribute__((unavailable("a thread block cluster is not supported on the CPU"))) __DAMO_GROUP cluster_group this_cluster() { return {}; }

template <class Group> __DAMO_GROUP void sync(const Group& group) { group.sync(); }
template <class Group> __DAMO_GROUP unsigned thread_rank(const Group& group) { return unsigned(group.thread_rank()); }
template <class Group> __DAMO_GROUP unsigned group_size(const Group& group) { return unsigned(group.size()); }

template <class Group, class F, class... A>
__DAMO_GROUP void invoke_one(const Group& group, F&& f, A&&... arguments) {
  if (group.thread_rank() == 0) f(static_cast<A&&>(arguments)...);
}
template <class Group, class F, class... A>
__DAMO_GROUP auto invoke_one_broadcast(const Group& group, F&& f, A&&... arguments) {
  decltype(f(static_cast<A&&>(arguments)...)) result{};
  if (group.thread_rank() == 0) result = f(static_cast<A&&>(arguments)...);
  return group.shfl(result, 0);
}

// <cooperative_groups/memcpy_async.h>: the group's threads copy a share each, at once; wait() is the group's sync().
template <class Group, class T>
__DAMO_GROUP void memcpy_async(const Group& group, T* to, size_t to_count, const T* from, size_t from_count) {
  const size_t count = to_count < from_count ? to_count : from_count;
  for (size_t i = group.thread_rank(); i < count; i += group.size()) to[i] = from[i];
}
template <class Group>
__DAMO_GROUP void memcpy_async(const Group& group, void* to, const void* from, size_t bytes) {
  memcpy_async(group, (unsigned char*)to, bytes, (const unsigned char*)from, bytes);
}
template <class Group> __DAMO_GROUP void wait(const Group& group) { group.sync(); }
template <unsigned Stages, class Group> __DAMO_GROUP void wait_prior(const Group& group) { group.sync(); }

}  // namespace cooperative_groups
