// One kernel for float and half by conversion functions.
//: array float16 h[300] = uniform(-2, 2)
//: array float32 f[300] = uniform(-2, 2)
//: launch square<half><<<2, 256>>>(h, 300)
//: launch square<float><<<2, 256>>>(f, 300)
//: check h within 0.001
//: check f within 1e-6
#include <cuda_fp16.h>
template <typename T> __device__ float to_float(T x);
template <> __device__ float to_float<float>(float x) { return x; }
template <> __device__ float to_float<half>(half x) { return __half2float(x); }
template <typename T> __device__ T from_float(float x);
template <> __device__ float from_float<float>(float x) { return x; }
template <> __device__ half from_float<half>(float x) { return __float2half_rn(x); }
template <typename T> __global__ void square(T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) { const float v = to_float(x[i]); x[i] = from_float<T>(v * v); }
}
