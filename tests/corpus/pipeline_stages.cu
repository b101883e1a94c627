// The primitives of asynchronous copies, two stages.
//: array float32 in[1024] = uniform(-1, 1)
//: array float32 out[1024]
//: launch staged<<<1, 128>>>(in, out, 8)
//: check out within 1e-6
#include <cuda_pipeline.h>
__global__ void staged(const float* in, float* out, int tiles) {
  __shared__ float stage[2][128];
  __pipeline_memcpy_async(&stage[0][threadIdx.x], in + threadIdx.x, sizeof(float));
  __pipeline_commit();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) __pipeline_memcpy_async(&stage[(t + 1) & 1][threadIdx.x], in + (t + 1) * 128 + threadIdx.x, sizeof(float));
    __pipeline_commit();
    __pipeline_wait_prior(1);
    __syncthreads();
    out[t * 128 + threadIdx.x] = stage[t & 1][threadIdx.x] + stage[t & 1][(threadIdx.x + 1) & 127];
    __syncthreads();
  }
}
