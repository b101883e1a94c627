// A warp a query, from the last to the first; scores of four keys at a time as float4, in memory that a cast names.
//: array float32 q[2048] = uniform(-1, 1)
//: array float32 k[2048] = uniform(-1, 1)
//: array float32 v[2048] = uniform(-1, 1)
//: array float32 scores[4096]
//: array float32 out[2048]
//: launch score<<<(4, 64), 64>>>(q, k, scores, 64, 32)
//: launch softmax_causal<<<16, 128>>>(scores, 0.1767767f, 64)
//: launch weigh<<<64, 32>>>(scores, v, out, 64, 32)
//: check out within 1e-5
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <float.h>
__global__ void score(const float *q, const float *k, float *scores, int T, int D) {
  const int t = blockIdx.y, u = blockIdx.x * (T / gridDim.x) + threadIdx.x % (T / gridDim.x);
  if (threadIdx.x >= T / gridDim.x) return;
  float dot = 0.f;
  for (int d = 0; d < D; ++d) dot += q[t * D + d] * k[u * D + d];
  scores[t * T + u] = u <= t ? dot : -INFINITY;
}
__device__ float part(const float4 &v, int i) { return reinterpret_cast<const float *>(&v)[i]; }
__global__ void softmax_causal(float *scores, float scale, int T) {
  namespace cg = cooperative_groups;
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int t = (gridDim.x - blockIdx.x - 1) * warp.meta_group_size() + warp.meta_group_rank();
  if (t >= T) return;
  float *row = scores + t * T;
  const float4 *fours = reinterpret_cast<const float4 *>(row);
  const int whole = (t + 1) / 4;
  float top = -FLT_MAX, sum = 0.f;
  for (int i = warp.thread_rank(); i < whole; i += warp.size()) {
    const float4 four = fours[i];
    const float before = top;
    for (int n = 0; n < 4; ++n) top = fmaxf(top, part(four, n));
    sum *= expf(scale * (before - top));
    for (int n = 0; n < 4; ++n) sum += expf(scale * (part(four, n) - top));
  }
  const int rest = 4 * whole + warp.thread_rank();
  if (rest <= t) {
    const float before = top;
    top = fmaxf(top, row[rest]);
    sum = sum * expf(scale * (before - top)) + expf(scale * (row[rest] - top));
  }
  const float high = cg::reduce(warp, top, cg::greater<float>{});
  const float all = cg::reduce(warp, sum * expf(scale * (top - high)), cg::plus<float>{});
  for (int u = warp.thread_rank(); u < T; u += warp.size()) row[u] = u <= t ? expf(scale * (row[u] - high)) / all : 0.f;
}
__global__ void weigh(const float *scores, const float *v, float *out, int T, int D) {
  const int t = blockIdx.x, d = threadIdx.x;
  float sum = 0.f;
  for (int u = 0; u <= t; ++u) sum = fmaf(scores[t * T + u], v[u * D + d], sum);
  out[t * D + d] = sum;
}
