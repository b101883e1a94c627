// Pairs: products summed in half2, each thread's sum turned to float.
//: array float16 a[512] = uniform(0, 1)
//: array float16 b[512] = uniform(0, 1)
//: array float32 out[1]
//: launch dot<<<1, 64>>>(a, b, out, 256)
//: check out within 0.003
#include "cuda_fp16.h"
__global__ void dot(const half* a, const half* b, float* out, int pairs) {
  const half2* a2 = reinterpret_cast<const half2*>(a);
  const half2* b2 = reinterpret_cast<const half2*>(b);
  half2 sum = __float2half2_rn(0.f);
  for (int i = threadIdx.x; i < pairs; i += blockDim.x) sum = __hfma2(a2[i], b2[i], sum);
  float2 f = __half22float2(sum);
  float total = f.x + f.y;
  for (int mask = 16; mask; mask /= 2) total += __shfl_xor_sync(0xffffffffu, total, mask);
  if (threadIdx.x % 32 == 0) atomicAdd(out, total);
}
