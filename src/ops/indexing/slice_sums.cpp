#include "ops/indexing/slice_sums.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "ops/indexing/take_kernels.hpp"
#include "ops/indexing/walks.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

// y is (outer, count, inner), z (outer, extent, inner). A block has a tile of neighbouring slices of z. Where their positions begin and end among the keys two warps look up, in 32 places at once, and between those
// its threads where those of each slice do, one a thread. Then each thread adds up some columns of a slice, in accesses of 16 bytes where these are aligned. The places of four terms are read at once, and then the
// terms: a thread that read one at a time would wait for memory twice for each.
constexpr const char* kSumSlices = R"(
template <class T, int width> struct alignas(sizeof(T) * width) Columns { T e[width]; };

template <class T, int width>
__device__ void sum_tile(const void* y, const long long* order, void* z, const long long* bounds, long long first, int slices, long long count, long long extent, long long inner, int most) {
  constexpr int kTerms = 4;
  const long long columns = inner / width;
  for (long long begin = (long long)blockIdx.y * most; begin < columns; begin += (long long)gridDim.y * most) {
    const int along = columns - begin < most ? (int)(columns - begin) : most;
    for (int i = threadIdx.x; i < slices * along; i += blockDim.x) {
      const int slice = i / along;
      const long long row = first + slice, column = begin + i - slice * along, end = bounds[2 * slice + 1];
      const Columns<T, width>* const from = (const Columns<T, width>*)y + (row >= extent ? row / extent * count * columns : 0) + column;
      Columns<T, width> sum;
#pragma unroll
      for (int e = 0; e < width; ++e) sum.e[e] = 0;
      for (long long at = bounds[2 * slice]; at < end; at += kTerms) {
        Columns<T, width> terms[kTerms];
#pragma unroll
        for (int m = 0; m < kTerms; ++m) {
          if (at + m < end) terms[m] = from[order[at + m] * columns];
        }
#pragma unroll
        for (int m = 0; m < kTerms; ++m) {
          if (at + m < end) {
#pragma unroll
            for (int e = 0; e < width; ++e) sum.e[e] += terms[m].e[e];
          }
        }
      }
      ((Columns<T, width>*)z)[row * columns + column] = sum;
    }
  }
}

/// How many keys are less, which are the first ones. Of a whole warp.
__device__ long long count_less(const long long* keys, long long count, long long key) {
  const int lane = threadIdx.x % 32;
  long long least = 0, most = count;
  while (most - least > 32) {
    const long long apart = (most - least + 31) / 32, at = least + (lane + 1) * apart - 1;
    least += __popc(__ballot_sync(0xffffffffu, at < most && keys[at] < key)) * apart;
    if (most > least + apart) most = least + apart;
  }
  return least + __popc(__ballot_sync(0xffffffffu, least + lane < most && keys[least + lane] < key));
}

template <class T>
__global__ void sum_slices(const void* y, const long long* keys, const long long* order, void* z, long long rows, long long count, long long extent, long long inner, int slices, int columns, int wide) {
  __shared__ long long bounds[2 * 128], among[2];
  for (long long first = (long long)blockIdx.x * slices; first < rows; first += (long long)gridDim.x * slices) {
    const int here = rows - first < slices ? (int)(rows - first) : slices;
    const bool is_one_range = first / extent == (first + here - 1) / extent;  // or it begins again
    __syncthreads();
    if (threadIdx.x < 64) {
      const int i = threadIdx.x / 32;
      const long long bound = is_one_range ? count_less(keys, count, first % extent + i * here) : i * count;
      if (threadIdx.x % 32 == 0) among[i] = bound;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 2 * here; i += blockDim.x) {
      const long long key = (first + i / 2) % extent + i % 2;
      long long least = among[0], most = among[1];
      while (least < most) {
        const long long middle = (least + most) / 2;
        if (keys[middle] < key) least = middle + 1;
        else most = middle;
      }
      bounds[i] = least;
    }
    __syncthreads();
    if (wide) sum_tile<T, 16 / sizeof(T)>(y, order, z, bounds, first, here, count, extent, inner, columns);
    else sum_tile<T, 1>(y, order, z, bounds, first, here, count, extent, inner, columns);
  }
}
)";

constexpr int kThreads = 256;
constexpr std::int64_t kMostSlices = 128;             // of a tile: sum_slices keeps that many
constexpr std::int64_t kMostColumns = 1024;           // of a tile, in accesses
constexpr std::int64_t kTile = 4096;                  // accesses: sixteen of a thread, so that looking up the bounds is little beside them
constexpr std::int64_t kTilesOfAMultiprocessor = 16;  // or tiles are smaller

}  // namespace

SliceSums::SliceSums(const CompileKernel& compile, DType dtype) : kernel_(compile(kSumSlices, dtype == float64 ? "sum_slices<double>" : "sum_slices<float>")) {}

void SliceSums::operator()(const Array& y, const Array& keys, const Array& order, const Array& z, int axis, int axes) const {
  if (z.size() == 0) return;
  const std::int64_t inner = inner_size(z.shape(), axis + axes - 1), rows = z.size() / inner, width = 16 / static_cast<std::int64_t>(itemsize(z.dtype()));
  const auto is_aligned = [](const Array& array) { return reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0; };
  const bool wide = inner % width == 0 && is_aligned(y) && is_aligned(z);
  const std::int64_t accesses = wide ? inner / width : inner, columns = std::min(accesses, kMostColumns), across = (accesses + columns - 1) / columns;
  const std::int64_t wanted = kTilesOfAMultiprocessor * std::max(z.device().backend().limits().multiprocessors, 1);
  const std::int64_t slices = std::clamp<std::int64_t>(std::min(kTile / columns, rows * across / wanted), 1, kMostSlices);
  const LaunchConfig launch{.grid = {std::min<std::int64_t>((rows + slices - 1) / slices, 1 << 20), std::min<std::int64_t>(across, 65535)}, .block = {kThreads}};
  kernel_(launch, y, keys, order, z, rows, keys.size(), walked_extent(z.shape(), axis, axes), inner, static_cast<int>(slices), static_cast<int>(columns), wide ? 1 : 0);
}

}  // namespace damo
