// Maximum and sum travel together through a tile's reduction with an operator of the text's own; a warp a row.
//: array float32 x[3200] = uniform(-6, 6)
//: array float32 y[3200]
//: array float32 z[3200]
//: launch rows_by_warps<<<8, 128>>>(x, y, 32, 100)
//: launch rows_by_tiles<16><<<4, 128>>>(x, z, 32, 100)
//: check y within 1e-6
//: check z within 1e-6
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct __align__(8) Pair {
  float top, sum;
};
__device__ __forceinline__ Pair merged(Pair a, Pair b) {
  const bool first = a.top > b.top;
  const Pair high = first ? a : b, low = first ? b : a;
  return {high.top, high.sum + low.sum * __expf(low.top - high.top)};
}
__global__ void rows_by_warps(const float *__restrict__ x, float *__restrict__ y, int rows, int columns) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row >= rows) return;
  const float *in = x + row * columns;
  Pair mine{-INFINITY, 0.f};
  for (int c = warp.thread_rank(); c < columns; c += warp.size()) mine = merged(mine, {in[c], 1.f});
  const Pair all = cg::reduce(warp, mine, merged);
  for (int c = warp.thread_rank(); c < columns; c += warp.size()) __stcs(y + row * columns + c, __expf(__ldcs(in + c) - all.top) / all.sum);
}
template <int Width>
__global__ void rows_by_tiles(const float *x, float *y, int rows, int columns) {
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<Width> tile = cg::tiled_partition<Width>(block);
  for (int row = blockIdx.x * tile.meta_group_size() + tile.meta_group_rank(); row < rows; row += gridDim.x * tile.meta_group_size()) {
    float top = -INFINITY, sum = 0.f;
    for (int c = tile.thread_rank(); c < columns; c += Width) top = fmaxf(top, x[row * columns + c]);
    top = cg::reduce(tile, top, cg::greater<float>());
    for (int c = tile.thread_rank(); c < columns; c += Width) sum += expf(x[row * columns + c] - top);
    for (int d = Width / 2; d > 0; d /= 2) sum += tile.shfl_xor(sum, d);
    for (int c = tile.thread_rank(); c < columns; c += Width) y[row * columns + c] = expf(x[row * columns + c] - top) / sum;
  }
}
