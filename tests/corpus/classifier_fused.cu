// Softmax, loss and gradient in one pass a row, from the row's end, where it may not fill a vector.
//: array float32 logits[18432] = uniform(-3, 3)
//: array float32 losses[12]
//: array int32 targets[12] = integers(0, 1501)
//: launch fused<<<12, 256>>>(logits, losses, targets, 1501, 1536, 0.125f)
//: check losses within 1e-5
//: check logits within 1e-5
#include <cstdint>
struct Row { float scale, offset; };
__device__ float sum_warp(float v) { for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d); return v; }
__device__ float max_warp(float v) { for (int d = 16; d > 0; d /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, d)); return v; }
__device__ Row prepare(const float *x, int V) {
  __shared__ float tops[32], sums[32];
  float top = -INFINITY, sum = 0.f;
  int i = (V + 3) / 4 + (int)threadIdx.x - (int)blockDim.x;
  while ((i + 1) * 4 > V) {
    for (int k = 0; k < 4; ++k) {
      if (i * 4 + k >= V) break;
      const float before = top;
      top = fmaxf(top, x[i * 4 + k]);
      sum = sum * expf(before - top) + expf(x[i * 4 + k] - top);
    }
    i -= blockDim.x;
  }
  for (; i >= 0; i -= blockDim.x) {
    const float4 v = reinterpret_cast<const float4 *>(x)[i];
    const float before = top;
    top = fmaxf(fmaxf(top, fmaxf(v.x, v.y)), fmaxf(v.z, v.w));
    sum = sum * expf(before - top) + expf(v.x - top) + expf(v.y - top) + expf(v.z - top) + expf(v.w - top);
  }
  const int lane = threadIdx.x % warpSize, warp = threadIdx.x / warpSize, warps = blockDim.x / warpSize;
  const float warp_top = __shfl_sync(0xffffffff, max_warp(top), 0);
  const float warp_sum = sum_warp(sum * expf(top - warp_top));
  if (lane == 0) { tops[warp] = warp_top; sums[warp] = warp_sum; }
  __syncthreads();
  if (warp == 0) {
    const float t = lane < warps ? tops[lane] : -INFINITY;
    const float all = __shfl_sync(0xffffffff, max_warp(t), 0);
    const float s = sum_warp(lane < warps ? sums[lane] * expf(t - all) : 0.f);
    if (lane == 0) { tops[0] = all; sums[0] = s; }
  }
  __syncthreads();
  return {1.f / sums[0], tops[0]};
}
__global__ void fused(float *logits, float *losses, const int *targets, int V, int P, float factor) {
  const int64_t row = gridDim.x - 1 - blockIdx.x;
  float *x = logits + row * P;
  const int target = targets[row];
  const Row r = prepare(x, V);
  if (threadIdx.x == 0) losses[row] = -logf(expf(x[target] - r.offset) * r.scale);
  __syncthreads();
  for (int i = threadIdx.x; i < V; i += blockDim.x) {
    const float p = expf(__ldcs(x + i) - r.offset) * r.scale;
    __stcs(x + i, (p - (i == target ? 1.f : 0.f)) * factor);
  }
}
