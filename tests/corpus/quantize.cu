// Rows to signed bytes by their largest magnitude, and back.
//: array float32 x[1024] = uniform(-3, 3)
//: array int8 q[1024]
//: array float32 scale[8]
//: array float32 back[1024]
//: launch quantize<<<8, 128>>>(x, q, scale, 128)
//: launch dequantize<<<8, 128>>>(q, scale, back)
//: check back within 0.013
__global__ void quantize(const float* x, signed char* q, float* scale, int n) {
  __shared__ int largest;
  if (threadIdx.x == 0) largest = 0;
  __syncthreads();
  const float v = x[blockIdx.x * n + threadIdx.x];
  atomicMax(&largest, __float_as_int(fabsf(v)));
  __syncthreads();
  const float s = __int_as_float(largest) / 127.0f;
  if (threadIdx.x == 0) scale[blockIdx.x] = s;
  q[blockIdx.x * n + threadIdx.x] = (signed char)max(-127, min(127, __float2int_rn(v / s)));
}
__global__ void dequantize(const signed char* q, const float* scale, float* back) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  back[i] = q[i] * scale[blockIdx.x];
}
