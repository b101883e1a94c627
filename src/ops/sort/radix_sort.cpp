#include "ops/sort/radix_sort.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include <damo/error.hpp>
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

constexpr std::int64_t kTile = 4096;
constexpr std::int64_t kDigits = 256;  // and threads of a block, one for each digit

// counts[row][digit][tile]: of the tile.
constexpr const char* kCount = R"(
template <class Key>
__global__ void count_digits(const Key* keys, long long count, long long tiles, int shift, unsigned* counts) {
  __shared__ unsigned own[256];
  const long long row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles, begin = tile * 4096;
  const int t = threadIdx.x, here = count - begin < 4096 ? int(count - begin) : 4096;
  own[t] = 0;
  __syncthreads();
  for (int k = t; k < here; k += 256) atomicAdd(&own[(keys[row * count + begin + k] >> shift) & 255], 1u);
  __syncthreads();
  counts[(row * 256 + t) * tiles + tile] = own[t];
}
)";

// A line is a digit of a row: what its tiles have becomes what the tiles before have, and the line's total. Lines of a block where one is a warp's, else one.
constexpr const char* kScan = R"(
extern "C" __global__ void scan_tiles(unsigned* counts, long long lines, long long tiles, unsigned* totals) {
  __shared__ unsigned sums[32];
  const int t = threadIdx.x, warps = blockDim.x / 32;
  const long long line = (long long)blockIdx.x * blockDim.y + threadIdx.y;
  unsigned before = 0;
  for (long long first = 0; first < tiles; first += blockDim.x) {
    const bool is_there = line < lines && first + t < tiles;
    const unsigned own = is_there ? counts[line * tiles + first + t] : 0;
    unsigned sum = own;
    for (int d = 1; d < 32; d *= 2) {
      const unsigned other = __shfl_up_sync(0xffffffffu, sum, d);
      if (t % 32 >= d) sum += other;
    }
    unsigned all = __shfl_sync(0xffffffffu, sum, 31);
    if (warps > 1) {
      if (t % 32 == 31) sums[t / 32] = sum;
      __syncthreads();
      all = 0;
      for (int w = 0; w < warps; ++w) {
        if (w == t / 32) sum += all;
        all += sums[w];
      }
      __syncthreads();
    }
    if (is_there) counts[line * tiles + first + t] = before + sum - own;
    before += all;
  }
  if (t == 0 && line < lines) totals[line] = before;
}
)";

// A warp has 512 elements of the tile, sixteen times 32 that follow each other. What is beyond the row has the greatest digit, and comes behind all others.
constexpr const char* kMove = R"(
__device__ unsigned sum_before(unsigned own, unsigned* sums) {
  unsigned sum = own;
  for (int d = 1; d < 32; d *= 2) {
    const unsigned other = __shfl_up_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 >= d) sum += other;
  }
  if (threadIdx.x % 32 == 31) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  for (int w = 0; w < threadIdx.x / 32; ++w) sum += sums[w];
  __syncthreads();
  return sum - own;
}

template <class Key>
__global__ void move_digits(const Key* keys, const unsigned* places, long long count, long long tiles, int shift, const unsigned* counts, const unsigned* totals,
                            Key* keys_out, unsigned* places_out, long long* order) {
  __shared__ unsigned of_warp[8][256], starts[256], to[256], sums[8];
  __shared__ Key moved[4096];
  const long long row = blockIdx.x / tiles, tile = blockIdx.x - row * tiles, begin = tile * 4096;
  const int t = threadIdx.x, warp = t / 32, lane = t % 32, here = count - begin < 4096 ? int(count - begin) : 4096;
  keys += row * count + begin;
  for (int w = 0; w < 8; ++w) of_warp[w][t] = 0;
  Key key[16];
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int at = warp * 512 + u * 32 + lane;
    key[u] = at < here ? keys[at] : ~Key(0);
  }
  __syncthreads();
  unsigned place[16];
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int digit = int(key[u] >> shift & 255);
    const unsigned equals = __match_any_sync(0xffffffffu, digit), before = of_warp[warp][digit], lower = equals & ((1u << lane) - 1);
    place[u] = before + __popc(lower);
    __syncwarp();
    if (lower == 0) of_warp[warp][digit] = before + __popc(equals);
    __syncwarp();
  }
  __syncthreads();
  unsigned own = 0;
  for (int w = 0; w < 8; ++w) {
    const unsigned those = of_warp[w][t];
    of_warp[w][t] = own;
    own += those;
  }
  const unsigned start = sum_before(own, sums);
  starts[t] = start;
  to[t] = sum_before(totals[row * 256 + t], sums) + counts[(row * 256 + t) * tiles + tile] - start;
  __syncthreads();
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int digit = int(key[u] >> shift & 255);
    place[u] += starts[digit] + of_warp[warp][digit];
    moved[place[u]] = key[u];
  }
  __syncthreads();
  unsigned target[16];
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int at = u * 256 + t;
    const Key own_key = moved[at];
    target[u] = to[own_key >> shift & 255] + at;
    if (keys_out && at < here) keys_out[row * count + target[u]] = own_key;
  }
  __syncthreads();
  unsigned* const from = reinterpret_cast<unsigned*>(moved);
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int at = warp * 512 + u * 32 + lane;
    from[place[u]] = places && at < here ? places[row * count + begin + at] : unsigned(begin) + at;
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < 16; ++u) {
    const int at = u * 256 + t;
    if (at >= here) continue;
    if (order) order[row * count + target[u]] = from[at];
    else places_out[row * count + target[u]] = from[at];
  }
}
)";

int passes_of(int bits) { return std::max((bits + 7) / 8, 1); }
/// Passes write two buffers in turn, but for the last one.
int buffers_of(int passes) { return std::min(passes - 1, 2); }
std::int64_t tiles_of(std::int64_t count) { return (count + kTile - 1) / kTile; }

}  // namespace

void require_sortable(std::int64_t count) {
  if (count >> 32 != 0) throw ShapeError("rows of " + std::to_string(count) + " elements cannot be sorted: 2^32 - 1 are the most", "sort parts of them");
}

RadixSort::RadixSort(const CompileKernel& compile, DType key_dtype) : key_dtype_(key_dtype) {
  const std::string of_keys = key_dtype == uint64 ? "<unsigned long long>" : "<unsigned>";
  count_digits_ = compile(kCount, "count_digits" + of_keys);
  scan_tiles_ = compile(kScan, "scan_tiles");
  move_digits_ = compile(kMove, "move_digits" + of_keys);
}

void RadixSort::operator()(const Array& keys, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const {
  require_sortable(count);
  if (rows * count == 0) return;
  const int passes = passes_of(bits);
  const std::int64_t tiles = tiles_of(count), lines = rows * kDigits;
  const Device device = keys.device();
  const Array counts = Array::empty({lines * tiles}, uint32, device), totals = Array::empty({lines}, uint32, device);
  // Passes write two buffers in turn; the last one of keys writes what was asked for.
  std::pair<Array, Array> others[2];
  for (int i = 0; i < buffers_of(passes); ++i) others[i] = {Array::empty({rows * count}, key_dtype_, device), Array::empty({rows * count}, uint32, device)};
  const auto or_nothing = [](const Array& array) { return array ? KernelArgument(array) : KernelArgument(nullptr); };
  const std::int64_t width = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tiles))), 32, 1024), across = width > 32 ? 1 : 8;
  const LaunchConfig by_tile{.grid = {rows * tiles}, .block = {kDigits}};
  std::pair<Array, Array> from{keys, {}};
  for (int pass = 0; pass < passes; ++pass) {
    const bool is_last = pass + 1 == passes;
    const std::pair<Array, Array> to = is_last ? std::pair(sorted, Array()) : others[pass % 2];
    count_digits_(by_tile, from.first, count, tiles, 8 * pass, counts);
    scan_tiles_({.grid = {(lines + across - 1) / across}, .block = {width, across}}, counts, lines, tiles, totals);
    move_digits_(by_tile, from.first, or_nothing(from.second), count, tiles, 8 * pass, counts, totals, or_nothing(to.first), or_nothing(to.second), is_last ? KernelArgument(order) : KernelArgument(nullptr));
    from = to;
  }
}

std::size_t RadixSort::workspace_bytes(std::int64_t rows, std::int64_t count, int bits) const {
  if (rows * count == 0) return 0;
  const auto bytes = [](std::int64_t elements, DType dtype) { return static_cast<std::size_t>(elements) * itemsize(dtype); };
  WorkspaceNeed need;
  need.take(bytes(rows * kDigits * tiles_of(count), uint32));
  need.take(bytes(rows * kDigits, uint32));
  for (int i = 0; i < buffers_of(passes_of(bits)); ++i) need.take(bytes(rows * count, key_dtype_)), need.take(bytes(rows * count, uint32));
  return need.bytes();
}

}  // namespace damo
