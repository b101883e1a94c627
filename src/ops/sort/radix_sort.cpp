#include "ops/sort/radix_sort.hpp"

#include <algorithm>
#include <utility>

#include <damo/error.hpp>

namespace damo {
namespace {

// A tile is a thread's: neighbouring elements of a row that it goes through in order, which makes the sort stable. starts[row][digit][tile] is
// first a count, then where in the row the tile's elements of that digit begin.
constexpr const char* kCount = R"(
extern "C" __global__ void count_digits(const unsigned long long* keys, long long rows, long long count, int shift, long long tile, long long tiles, unsigned* starts) {
  const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= rows * tiles) return;
  const long long row = t / tiles, own = t - row * tiles;
  unsigned* const counts = starts + row * 256 * tiles + own;
  for (int digit = 0; digit < 256; ++digit) counts[digit * tiles] = 0;
  const long long end = (own + 1) * tile < count ? (own + 1) * tile : count;
  for (long long i = own * tile; i < end; ++i) counts[((keys[row * count + i] >> shift) & 255) * tiles] += 1;
}
)";
constexpr const char* kScan = R"(
extern "C" __global__ void scan_counts(unsigned* all, long long rows, long long count) {
  __shared__ unsigned sums[256];
  const int t = threadIdx.x;
  const long long share = (count + 255) / 256, begin = t * share, end = begin + share < count ? begin + share : count;
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    unsigned* const starts = all + row * count;
    unsigned sum = 0;
    for (long long i = begin; i < end; ++i) sum += starts[i];
    sums[t] = sum;
    __syncthreads();
    if (t == 0) {
      unsigned before = 0;
      for (int i = 0; i < 256; ++i) {
        const unsigned own = sums[i];
        sums[i] = before;
        before += own;
      }
    }
    __syncthreads();
    unsigned before = sums[t];
    for (long long i = begin; i < end; ++i) {
      const unsigned own = starts[i];
      starts[i] = before;
      before += own;
    }
    __syncthreads();
  }
}
)";
constexpr const char* kMove = R"(
extern "C" __global__ void move_digits(const unsigned long long* keys, const long long* order, long long rows, long long count, int shift, long long tile, long long tiles,
                                       unsigned* starts, unsigned long long* keys_out, long long* order_out, int is_first) {
  const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= rows * tiles) return;
  const long long row = t / tiles, own = t - row * tiles, begin = row * count;
  unsigned* const next = starts + row * 256 * tiles + own;
  const long long end = (own + 1) * tile < count ? (own + 1) * tile : count;
  for (long long i = own * tile; i < end; ++i) {
    const unsigned long long key = keys[begin + i];
    const unsigned to = next[((key >> shift) & 255) * tiles]++;
    keys_out[begin + to] = key;
    order_out[begin + to] = is_first ? i : order[begin + i];
  }
}
)";

}  // namespace

void require_sortable(std::int64_t count) {
  if (count >> 32 != 0) throw ShapeError("rows of " + std::to_string(count) + " elements cannot be sorted: 2^32 - 1 are the most", "sort parts of them");
}

RadixSort::RadixSort(Device device, const CompileKernel& compile) : host_(HostSort::of(device)) {
  if (host_) return;
  count_digits_ = compile(kCount, "count_digits");
  scan_counts_ = compile(kScan, "scan_counts");
  move_digits_ = compile(kMove, "move_digits");
}

void RadixSort::operator()(const Array& keys, std::int64_t rows, std::int64_t count, int bits, const Array& sorted, const Array& order) const {
  require_sortable(count);
  if (rows * count == 0) return;
  if (host_) return host_->sort(keys, {}, rows, count, sorted, order);
  const int passes = std::max((bits + 7) / 8, 1);
  // Tiles long enough that their counters, 256 each, are not more than the elements, short enough to keep a GPU's threads busy.
  const std::int64_t tile = std::clamp<std::int64_t>(count * rows / 2048, std::min<std::int64_t>(count, 32), std::min<std::int64_t>(count, 1024)), tiles = (count + tile - 1) / tile;
  const Device device = keys.device();
  const Array starts = Array::empty({rows * 256 * tiles}, uint32, device), other_keys = Array::empty({rows * count}, keys.dtype(), device), other_order = Array::empty({rows * count}, int64, device);
  // The last pass ends in the outputs.
  const bool is_odd = passes % 2 == 1;
  std::pair<Array, Array> to{is_odd ? sorted : other_keys, is_odd ? order : other_order}, next{is_odd ? other_keys : sorted, is_odd ? other_order : order};
  std::pair<Array, Array> from{keys, next.second};
  const LaunchConfig by_tile{.grid = {(rows * tiles + 63) / 64}, .block = {64}};
  for (int pass = 0; pass < passes; ++pass) {
    count_digits_(by_tile, from.first, rows, count, 8 * pass, tile, tiles, starts);
    scan_counts_({.grid = {std::min<std::int64_t>(rows, 65535)}, .block = {256}}, starts, rows, 256 * tiles);
    move_digits_(by_tile, from.first, from.second, rows, count, 8 * pass, tile, tiles, starts, to.first, to.second, pass == 0 ? 1 : 0);
    from = to;
    std::swap(to, next);
  }
}

}  // namespace damo
