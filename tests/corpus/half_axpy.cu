//: array float16 x[1000] = uniform(-2, 2)
//: array float16 y[1000] = uniform(-2, 2)
//: launch haxpy<<<4, 256>>>(1000, 2.0f, x, y)
//: check y within 0.001
#include <cuda_fp16.h>
__global__ void haxpy(int n, float a, const half* x, half* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const half ah = __float2half(a);
  if (i < n) y[i] = __hfma(ah, x[i], y[i]);
}
