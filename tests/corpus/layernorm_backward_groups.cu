// Gradients of weights and biases gather in shared memory by atomics; a warp a row, then the block adds its share.
//: array float32 dx[3840]
//: array float32 dw[96]
//: array float32 db[96]
//: array float32 dy[3840] = uniform(-1, 1)
//: array float32 x[3840] = uniform(-2, 2)
//: array float32 w[96] = uniform(0.5, 1.5)
//: array float32 dbias[96]
//: launch backward<<<10, 128, 768>>>(dx, dw, db, dy, x, w, 40, 96)
//: launch columns<<<3, 256, 1024>>>(dbias, dy, 40, 96)
//: check dx within 1e-4
//: check dw within 1e-4
//: check db within 1e-4
//: check dbias within 1e-4
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void backward(float *dx, float *dw, float *db, const float *dy, const float *x, const float *w, int rows, int columns) {
  extern __shared__ float cells[];
  cg::thread_block block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  float *db_cells = cells, *dw_cells = cells + columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) db_cells[c] = dw_cells[c] = 0.f;
  block.sync();
  const int row = blockIdx.x * warp.meta_group_size() + warp.meta_group_rank();
  if (row < rows) {
    const float *dy_row = dy + row * columns, *x_row = x + row * columns;
    float mean = 0.f, squares = 0.f;
    for (int c = warp.thread_rank(); c < columns; c += warp.size()) { mean += x_row[c]; squares += x_row[c] * x_row[c]; }
    mean = cg::reduce(warp, mean, cg::plus<float>()) / columns;
    squares = cg::reduce(warp, squares, cg::plus<float>()) / columns;
    const float r = rsqrtf(squares - mean * mean + 1e-5f);
    float first = 0.f, second = 0.f;
    for (int c = warp.thread_rank(); c < columns; c += warp.size()) {
      const float normal = (x_row[c] - mean) * r, scaled = w[c] * dy_row[c];
      first += scaled;
      second += scaled * normal;
      atomicAdd(&db_cells[c], dy_row[c]);
      atomicAdd(&dw_cells[c], normal * dy_row[c]);
    }
    first = cg::reduce(warp, first, cg::plus<float>()) / columns;
    second = cg::reduce(warp, second, cg::plus<float>()) / columns;
    for (int c = warp.thread_rank(); c < columns; c += warp.size())
      dx[row * columns + c] += (w[c] * dy_row[c] - first - (x_row[c] - mean) * r * second) * r;
  }
  block.sync();
  for (int c = threadIdx.x; c < columns; c += blockDim.x) { atomicAdd(db + c, db_cells[c]); atomicAdd(dw + c, dw_cells[c]); }
}
__global__ void columns(float *dbias, const float *dy, int rows, int columns) {
  extern __shared__ float cells[];
  const int warp = threadIdx.x / warpSize, lane = threadIdx.x % warpSize, warps = blockDim.x / warpSize;
  float sum = 0.f;
  for (int row = warp; row < rows; row += warps) sum += dy[row * columns + blockIdx.x * warpSize + lane];
  cells[lane + warp * warpSize] = sum;
  __syncthreads();
  if (warp == 0) {
    sum = 0.f;
    for (int i = 0; i < warps; ++i) sum += cells[lane + i * warpSize];
    dbias[blockIdx.x * warpSize + lane] += sum;
  }
}
