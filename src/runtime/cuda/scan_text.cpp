#include "runtime/cuda/scan_text.hpp"

namespace damo {

const char* const kCudaScan = R"(template <int N, class T> DAMO_FUNCTION Vec<T, N> turned(const Vec<T, N>& v) {
  Vec<T, N> other;
#pragma unroll
  for (int k = 0; k < N; ++k) other.e[k] = v.e[N - 1 - k];
  return other;
}
template <class A> DAMO_FUNCTION A of_lane_before(const A& value, int distance) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_up_sync(0xffffffffu, words[i], distance);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
template <class A> DAMO_FUNCTION A of_lane_behind(const A& value, int distance) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) words[i] = __shfl_down_sync(0xffffffffu, words[i], distance);
  A other;
  memcpy(&other, words, sizeof(A));
  return other;
}
)";

// A state is a value in words of 32 bits, each in a word of 64 beside a flag: a word that has its flag has its bits, whatever became
// visible before or after it. Volatile accesses are relaxed ones, which pass the first-level cache by.
const char* const kCudaStates = R"(template <class A> DAMO_FUNCTION void publish(volatile u64* state, const A& value) {
  u32 words[(sizeof(A) + 3) / 4] = {};
  memcpy(words, &value, sizeof(A));
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) state[i] = u64(1) << 32 | words[i];
}
template <class A> DAMO_FUNCTION A awaited(const volatile u64* state) {
  u32 words[(sizeof(A) + 3) / 4];
#pragma unroll
  for (int i = 0; i < int((sizeof(A) + 3) / 4); ++i) {
    u64 word = state[i];
    while (word >> 32 == 0) word = state[i];
    words[i] = u32(word);
  }
  A value;
  memcpy(&value, words, sizeof(A));
  return value;
}
)";

// What stands before a tile of a row, for all of its block; nothing before the first. It is joined from parts, each of no more than 32 states of neighbours: those of the
// tiles of the tile's own 32, of each of the kNear groups of 32 before it, and of each level what is before these, so that a group has published its value long
// before that is asked for. A warp has a part, so that all are asked for at once and waited for side by side; they are joined from the nearest to the
// farthest whatever came first. The states of each level's tiles lie behind those of the level below, each in a sector of the cache of its own: hundreds of blocks wait for
// the state that is missing, and where neighbours were published into the sector that they ask for, all of them waited longer. The last tile of 32 publishes what they have as soon as that
// is there, and of higher levels, where it is the last too, when it has all parts.
const char* const kCudaLookBack = R"(template <int kNear, class A, class Join> DAMO_FUNCTION A look_back(volatile u64* states, u32 tiles, u32 tile, A own, A* parts, Join join) {
  constexpr int kApart = ((sizeof(A) + 3) / 4 + 3) / 4 * 4;
  const int lane = threadIdx.x % 32;
  const u32 group = tile / 32, far = group > u32(kNear) ? group - u32(kNear) : 0;
  volatile u64* level = states + i64(tiles) * kApart;
  if (threadIdx.x == 0) publish(states + i64(tile) * kApart, own);
  for (int part = threadIdx.x / 32;; part += blockDim.x / 32) {
    volatile u64* asked = states + (i64(group) - part) * 32 * kApart;
    int digit = part == 0 ? int(tile % 32) : u32(part) <= group ? 32 : 0;
    if (part > kNear) {
      asked = level;
      u32 count = (tiles - 1) / 32 + 1, at = far;
      for (int l = kNear + 1; l < part && at > 0; ++l) {
        asked += i64(count) * kApart;
        count = (count - 1) / 32 + 1;
        at /= 32;
      }
      if (at == 0) break;
      digit = int(at % 32);
      asked += (i64(at) - digit) * kApart;
    }
    if (digit == 0) continue;
    A joined = own;
    if (lane < digit) joined = awaited<A>(asked + lane * kApart);
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const A behind = of_lane_behind(joined, d);
      if (lane + d < digit) joined = join(joined, behind);
    }
    if (lane == 0) parts[part] = joined;
    if (threadIdx.x == 0 && part == 0 && digit == 31) publish(level + i64(group) * kApart, join(joined, own));
  }
  __syncthreads();
  A before = own;
  bool has_before = false;
  const auto take = [&](int part) {
    before = has_before ? join(parts[part], before) : parts[part];
    has_before = true;
  };
  if (tile % 32 > 0) take(0);
#pragma unroll 1
  for (int part = 1; part <= kNear; ++part) {
    if (u32(part) <= group) take(part);
  }
  u32 count = (tiles - 1) / 32 + 1, unit = group;
  bool is_last = tile % 32 == 31;
  int part = kNear + 1;
  for (u32 at = far; at > 0; at /= 32, ++part) {
    if (at % 32 > 0) take(part);
    is_last = is_last && unit % 32 == 31;
    unit /= 32;
    level += i64(count) * kApart;
    count = (count - 1) / 32 + 1;
    if (is_last && threadIdx.x == 0) publish(level + i64(unit) * kApart, join(before, own));
  }
  return before;
}
)";

// A block asks for all of a tile, to the second-level cache, in one instruction; what does not begin where it must begins a little earlier.
const char* const kCudaAskFor = R"(DAMO_FUNCTION void ask_for(const void* from, u32 bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" :: "l"(reinterpret_cast<u64>(from) & ~u64(15)), "r"(bytes) : "memory");
#endif
}
)";

// What stands before a tile of columns, for all of its block: level l's part of column c at of_level[l * columns + c], behind a meeting. A thread
// asks for all states of one column and level at once, neighbours for those of neighbours. The last tile of 8 publishes what they have, of a
// higher level too, without waiting for levels above: else these would be a chain down the columns. held: what each group of lanes has of the
// columns. n: columns of the array, first: that of the tile.
const char* const kCudaLookUp = R"(template <int kRadix, class A, class Join> DAMO_FUNCTION A joined_states(const volatile u64* asked, i64 stride, int digit, Join join) {
  constexpr int kWords = (sizeof(A) + 3) / 4, kAsked = kWords == 1 ? kRadix - 1 : kWords == 2 ? 2 : 1;
  A joined;
#pragma unroll
  for (int d = 0; d < kRadix - 1; d += kAsked) {
    u64 words[kAsked][kWords];
#pragma unroll
    for (int k = 0; k < kAsked * kWords; ++k) {
      if (d + k / kWords < digit) words[k / kWords][k % kWords] = asked[(d + k / kWords) * stride + k % kWords];
    }
#pragma unroll
    for (int k = 0; k < kAsked; ++k) {
      if (d + k >= digit) continue;
      u32 bits[kWords];
#pragma unroll
      for (int i = 0; i < kWords; ++i) {
        while (words[k][i] >> 32 == 0) words[k][i] = asked[(d + k) * stride + i];
        bits[i] = u32(words[k][i]);
      }
      A value;
      memcpy(&value, bits, sizeof(A));
      joined = d + k > 0 ? join(joined, value) : value;
    }
  }
  return joined;
}
template <int kRadix, int kBlock, int kColumns, int kGroups, class A, class Join>
DAMO_FUNCTION void look_up(volatile u64* states, i64 n, i64 first, u32 tiles, u32 tile, const A* held, A* of_level, Join join) {
  constexpr int kWords = (sizeof(A) + 3) / 4, kOwn = (kColumns + kBlock - 1) / kBlock;
  const int t = threadIdx.x;
  const i64 stride = n * kWords;
  A own[kOwn];
#pragma unroll
  for (int i = 0; i < kOwn; ++i) {
    const int c = t + i * kBlock;
    if (c >= kColumns) continue;
    own[i] = held[c];
#pragma unroll
    for (int g = 1; g < kGroups; ++g) own[i] = join(own[i], held[g * kColumns + c]);
    if (first + c < n) publish(states + tile * stride + (first + c) * kWords, own[i]);
  }
  for (int place = t;; place += kBlock) {
    const int l = place / kColumns, c = place % kColumns;
    volatile u64* level = states + (first + c) * kWords;
    u32 count = tiles, at = tile;
    for (int i = 0; i < l && at > 0; ++i) {
      level += count * stride;
      count = (count - 1) / kRadix + 1;
      at /= kRadix;
    }
    if (at == 0) break;
    const int digit = int(at % kRadix);
    if (digit == 0 || first + c >= n) continue;
    const A joined = joined_states<kRadix, A>(level + (at - digit) * stride, stride, digit, join);
    of_level[place] = joined;
    if (l > 0 || digit < kRadix - 1) continue;
    A sum = join(joined, own[kOwn > 1 ? place / kBlock : 0]);
#pragma unroll 1
    for (;;) {
      level += count * stride;
      count = (count - 1) / kRadix + 1;
      at /= kRadix;
      publish(level + at * stride, sum);
      if (at % kRadix < kRadix - 1) break;
      A all = awaited<A>(level + (at - (kRadix - 1)) * stride);
#pragma unroll 1
      for (int d = kRadix - 2; d > 0; --d) all = join(all, awaited<A>(level + (at - d) * stride));
      sum = join(all, sum);
    }
  }
  __syncthreads();
}
)";

}  // namespace damo
