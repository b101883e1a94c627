//: array bfloat16 x[512] = uniform(-3, 3)
//: launch scale<<<1, 256>>>(x, 0.5f)
//: check x
#include <cuda_bf16.h>
__global__ void scale(__nv_bfloat16* x, float by) {
  __nv_bfloat162* p = (__nv_bfloat162*)x;
  const __nv_bfloat162 b = __float2bfloat162_rn(by);
  p[threadIdx.x] = __hmul2(p[threadIdx.x], b);
}
