//: array bfloat16 x[512] = uniform(-3, 3)
//: array bfloat16 y[512]
//: launch gelu_bf16<<<2, 256>>>(y, x, 512)
//: check y within 0.006
#include <cuda_bf16.h>
typedef __nv_bfloat16 floatX;
__global__ void gelu_bf16(floatX* out, const floatX* inp, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = (float)inp[i];
  float cube = 0.044715f * x * x * x;
  out[i] = (floatX)(0.5f * x * (1.0f + tanhf(0.79788456f * (x + cube))));
}
