#include "ops/sort/radix_sort.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <damo/error.hpp>
#include "ops/sort/sort_key.hpp"
#include "runtime/backend.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kThreads = 512;                       // of a block that moves a tile
constexpr std::int64_t kTileBytes = 32768, kMostItems = 16;  // of elements; items are elements of a thread
constexpr std::int64_t kDigits = 256;
constexpr std::int64_t kCountingBlocks = 8, kLeastCounted = 4096;          // blocks of a multiprocessor, elements of a block
constexpr std::int64_t kLongest = 0xffffffff - 2 * kThreads * kMostItems;  // what a state holds

// counts[row][pass][digit]
constexpr const char* kCount = R"(
template <class Word, bool is_floating>
__global__ void count_digits(const void* __restrict__ x, long long count, long long chunks, long long chunk, int passes, unsigned long long infinity, unsigned long long flip, unsigned* counts) {
  __shared__ unsigned own[sizeof(Word)][256];
  const long long row = blockIdx.x / chunks, begin = (blockIdx.x - row * chunks) * chunk, end = begin + chunk < count ? begin + chunk : count;
  const int t = threadIdx.x;
#pragma unroll
  for (int d = 0; d < sizeof(Word); ++d) own[d][t] = 0;
  __syncthreads();
  const Word* const words = (const Word*)x + row * count;
  for (long long first = begin + t; first < end; first += 8 * 256) {
    Word word[8];
#pragma unroll
    for (int u = 0; u < 8; ++u) word[u] = first + u * 256 < end ? words[first + u * 256] : Word(0);
#pragma unroll
    for (int u = 0; u < 8; ++u) {
      if (first + u * 256 >= end) break;
      const Word key = order_of<Word, is_floating>(word[u], Word(infinity), Word(flip));
#pragma unroll
      for (int d = 0; d < sizeof(Word); ++d) {
        if (d < passes) atomicAdd(&own[d][key >> (8 * d) & 255], 1u);
      }
    }
  }
  __syncthreads();
  for (int d = 0; d < passes; ++d) {
    if (own[d][t] > 0) atomicAdd(&counts[(row * passes + d) * 256 + t], own[d][t]);
  }
}
)";

// states[row][tile][digit]: 0 while it is not known, 1 + n where the tile has n of the digit, THROUGH + n where the row has n up to the tile's end. What a word says
// it says alone, so it may be seen before or after others; volatile accesses pass the first-level cache by.
// A warp has ITEMS times 32 elements of the tile that follow each other. What is beyond the row has the greatest digit, and comes behind all others.
constexpr const char* kMove = R"(
#define WARPS (THREADS / 32)
#define THROUGH (2u * TILE)
#define AHEAD 8
__device__ unsigned lanes_of(int digit) {
  unsigned lanes = 0xffffffffu;
#pragma unroll
  for (int bit = 0; bit < 8; ++bit) {
#ifdef __DAMO_CPU__
    const bool is_set = (digit & 1 << bit) != 0;
    const unsigned those = __ballot_sync(0xffffffffu, is_set);
    lanes &= is_set ? those : ~those;
#else  // three instructions a bit, where the compiler makes seven of that
    unsigned those;
    asm volatile("{ .reg .pred p; and.b32 %0, %1, %2; setp.ne.u32 p, %0, 0; vote.sync.ballot.b32 %0, p, 0xffffffff; @!p not.b32 %0, %0; }" : "=&r"(those) : "r"(digit), "r"(1 << bit));
    lanes &= those;
#endif
  }
  return lanes;
}
// The sums of what the threads before have, of two numbers. Of the first 256 threads, which alone have any; for all of the block.
__device__ void sum_before(unsigned& a, unsigned& b, unsigned (*sums)[2]) {
  const int t = threadIdx.x;
  const unsigned own_a = a, own_b = b;
  for (int d = 1; d < 32; d *= 2) {
    const unsigned other_a = __shfl_up_sync(0xffffffffu, a, d), other_b = __shfl_up_sync(0xffffffffu, b, d);
    if (t % 32 >= d) a += other_a, b += other_b;
  }
  if (t % 32 == 31) sums[t / 32][0] = a, sums[t / 32][1] = b;
  __syncthreads();
  a -= own_a, b -= own_b;
#pragma unroll
  for (int w = 0; w < 7; ++w) {
    if (w < t / 32) a += sums[w][0], b += sums[w][1];
  }
}
__device__ unsigned of_tiles_before(const volatile unsigned* states, int tile) {
  unsigned before = 0;
  for (int next = tile - 1;; next -= AHEAD) {
    unsigned seen[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) seen[k] = states[(long long)max(next - k, 0) * 256];
#pragma unroll
    for (int k = 0; k < AHEAD; ++k) {
      while (seen[k] == 0) seen[k] = states[(long long)max(next - k, 0) * 256];
      if (seen[k] >= THROUGH) return before + (seen[k] - THROUGH);
      before += seen[k] - 1;
    }
  }
}

template <class Word, bool is_floating, bool has_places>
__global__ void __launch_bounds__(THREADS, 2) move_digits(const void* from, const unsigned* places, long long count, unsigned tiles, int pass, int passes, unsigned long long infinity,
                                                       unsigned long long flip, unsigned* tickets, const unsigned* counts, unsigned* states, void* words_out, unsigned* places_out, long long* order) {
  __shared__ union {
    unsigned of_warp[WARPS][256];
    Word words[TILE];
    unsigned places[has_places ? TILE : 1];
  } shared;
  __shared__ unsigned starts[256], to[256], sums[WARPS][2], ticket;
  const int t = threadIdx.x, warp = t / 32, lane = t % 32;
  const auto digit_of = [&](Word word) { return int(order_of<Word, is_floating>(word, Word(infinity), Word(flip)) >> (8 * pass) & 255); };
  if (t == 0) ticket = atomicAdd(tickets + pass, 1u);
  __syncthreads();
  const unsigned row = ticket / tiles, tile = ticket - row * tiles;
  const long long begin = (long long)tile * TILE;
  const int here = count - begin < TILE ? int(count - begin) : TILE, first = warp * (ITEMS * 32) + lane;
  const Word* const words = (const Word*)from + row * count + begin;
  Word word[ITEMS];
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) word[u] = first + u * 32 < here ? words[first + u * 32] : Word(0);
#pragma unroll
  for (int i = 0; i < WARPS * 256; i += THREADS) (&shared.of_warp[0][0])[i + t] = 0;
  unsigned total = t < 256 ? counts[(row * (long long)passes + pass) * 256 + t] : 0;
  __syncthreads();
  unsigned place[ITEMS];  // and above it the digit
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const int digit = digit_of(word[u]) | (first + u * 32 < here ? 0 : 255);
    const unsigned equals = lanes_of(digit), before = shared.of_warp[warp][digit] + __popc(equals & ((1u << lane) - 1));
    __syncwarp();
    if (equals >> lane == 1) shared.of_warp[warp][digit] = before + 1;  // the last of them
    __syncwarp();
    place[u] = unsigned(digit) << 16 | before;
  }
  __syncthreads();
  unsigned own = 0;
  if (t < 256) {
    for (int w = 0; w < WARPS; ++w) {
      const unsigned those = shared.of_warp[w][t];
      shared.of_warp[w][t] = own;
      own += those;
    }
    states += row * (long long)tiles * 256 + t;
    if (tile + 1 < tiles) *(volatile unsigned*)(states + (long long)tile * 256) = own + (tile == 0 ? THROUGH : 1);
  }
  unsigned start = own;
  sum_before(start, total, sums);
  if (t < 256) starts[t] = start;
  __syncthreads();
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const unsigned digit = place[u] >> 16;
    place[u] = (place[u] & 0xffff) + starts[digit] + shared.of_warp[warp][digit];
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) shared.words[place[u]] = word[u];
  if (t < 256) {
    unsigned before = 0;
    if (tile > 0) {
      before = of_tiles_before(states, tile);
      if (tile + 1 < tiles) *(volatile unsigned*)(states + (long long)tile * 256) = THROUGH + before + own;
    }
    to[t] = total + before - start;
  }
  __syncthreads();
  unsigned target[ITEMS];
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const int at = u * THREADS + t;
    const Word moved = shared.words[at];
    target[u] = to[digit_of(moved)] + at;
    if (words_out && at < here) ((Word*)words_out)[row * count + target[u]] = moved;
  }
  if (!has_places) return;
  __syncthreads();
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const int at = first + u * 32;
    if (at < here) shared.places[place[u]] = places ? places[row * count + begin + at] : unsigned(begin) + at;
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < ITEMS; ++u) {
    const int at = u * THREADS + t;
    if (at >= here) continue;
    if (order) order[row * count + target[u]] = shared.places[at];
    else places_out[row * count + target[u]] = shared.places[at];
  }
}
)";

std::int64_t items_of(DType dtype) { return std::min<std::int64_t>(kTileBytes / kThreads / static_cast<std::int64_t>(itemsize(dtype)), kMostItems); }
int passes_of(int bits) { return std::max((bits + 7) / 8, 1); }
/// Passes write two buffers in turn, but for the last one.
int buffers_of(int passes) { return std::min(passes - 1, 2); }

/// What passes share, in one array that begins as zeros: the tickets of each pass, the counts of each row, pass and digit, and of each pass the states of rows of several tiles.
struct Tables {
  Tables(std::int64_t rows, std::int64_t tiles, int passes)
      : counts(32), states(counts + rows * passes * kDigits), of_pass(tiles > 1 ? rows * tiles * kDigits : 0), words(states + passes * of_pass) {}
  std::int64_t counts, states, of_pass, words;
};

}  // namespace

void require_sortable(std::int64_t count) {
  if (count > kLongest) throw ShapeError("rows of " + std::to_string(count) + " elements cannot be sorted: " + std::to_string(kLongest) + " are the most", "sort parts of them");
}

RadixSort::RadixSort(const CompileKernel& compile, DType dtype, bool has_order) : dtype_(dtype), has_order_(has_order) {
  const std::int64_t items = items_of(dtype);
  const auto define = [](const char* name, std::int64_t value) { return "#define " + std::string(name) + " " + std::to_string(value) + "\n"; };
  const std::string sizes = define("THREADS", kThreads) + define("ITEMS", items) + define("TILE", kThreads * items);
  count_digits_ = compile(std::string(kOrderOf) + kCount, of_words("count_digits", dtype) + ">");
  move_digits_ = compile(sizes + kOrderOf + kMove, of_words("move_digits", dtype) + (has_order ? ", true>" : ", false>"));
}

std::int64_t RadixSort::tiles_of(std::int64_t count) const {
  const std::int64_t tile = kThreads * items_of(dtype_);
  return (count + tile - 1) / tile;
}

void RadixSort::operator()(const Array& x, const SortKey& key, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const {
  require_sortable(count);
  if (rows * count == 0) return;
  const int passes = passes_of(bits);
  const std::int64_t tiles = tiles_of(count);
  const Tables tables(rows, tiles, passes);
  const Device device = x.device();
  const Array table = Array::empty({tables.words}, uint32, device);
  std::pair<Array, Array> others[2];
  for (int i = 0; i < buffers_of(passes); ++i) others[i] = {Array::empty({rows * count}, dtype_, device), has_order_ ? Array::empty({rows * count}, uint32, device) : Array()};
  const auto or_nothing = [](const Array& array) { return array ? KernelArgument(array) : KernelArgument(nullptr); };
  const auto from_word = [&](std::int64_t word) { return table.slice({{word, {}}}); };

  const std::uint32_t zero = 0;
  device.backend().fill(table.data(), &zero, sizeof(zero), static_cast<std::size_t>(tables.words), nullptr);
  const std::int64_t blocks = std::max<std::int64_t>(kCountingBlocks * device.backend().limits().multiprocessors / rows, 1);
  const std::int64_t chunk = std::max((count + blocks - 1) / blocks, kLeastCounted), chunks = (count + chunk - 1) / chunk;
  count_digits_({.grid = {rows * chunks}, .block = {kDigits}}, x, count, chunks, chunk, passes, key.infinity, key.flip, from_word(tables.counts));
  std::pair<Array, Array> from{x, {}};
  for (int pass = 0; pass < passes; ++pass) {
    const bool is_last = pass + 1 == passes;
    const std::pair<Array, Array> to = is_last ? std::pair(sorted, Array()) : others[pass % 2];
    move_digits_({.grid = {rows * tiles}, .block = {kThreads}}, from.first, or_nothing(from.second), count, static_cast<std::uint32_t>(tiles), pass, passes, key.infinity, key.flip, table,
                 from_word(tables.counts), from_word(tables.of_pass > 0 ? tables.states + pass * tables.of_pass : 0), or_nothing(to.first), or_nothing(to.second), is_last ? or_nothing(order) : KernelArgument(nullptr));
    from = to;
  }
}

std::size_t RadixSort::workspace_bytes(std::int64_t rows, std::int64_t count, int bits) const {
  if (rows * count == 0) return 0;
  const int passes = passes_of(bits);
  const auto bytes = [](std::int64_t elements, DType dtype) { return static_cast<std::size_t>(elements) * itemsize(dtype); };
  WorkspaceNeed need;
  need.take(bytes(Tables(rows, tiles_of(count), passes).words, uint32));
  for (int i = 0; i < buffers_of(passes); ++i) {
    need.take(bytes(rows * count, dtype_));
    if (has_order_) need.take(bytes(rows * count, uint32));
  }
  return need.bytes();
}

}  // namespace damo
