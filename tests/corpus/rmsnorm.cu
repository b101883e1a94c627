//: array float32 x[1280] = uniform(-2, 2)
//: array float32 weight[256] = uniform(0.5, 1.5)
//: array float32 o[1280]
//: launch rmsnorm_kernel<<<5, 64>>>(o, x, weight, 256)
//: check o within 1e-5
__device__ float block_sum(float v) {
  __shared__ float partial[32];
  for (int k = warpSize >> 1; k > 0; k >>= 1) v += __shfl_down_sync(0xffffffffu, v, k);
  if (threadIdx.x % warpSize == 0) partial[threadIdx.x / warpSize] = v;
  __syncthreads();
  v = 0;
  for (int w = 0; w < (blockDim.x + warpSize - 1) / warpSize; ++w) v += partial[w];
  return v;
}
__global__ void rmsnorm_kernel(float* o, float* x, float* weight, int size) {
  x += blockIdx.x * size; o += blockIdx.x * size;
  float ss = 0.0f;
  for (int i = threadIdx.x; i < size; i += blockDim.x) ss += x[i] * x[i];
  ss = block_sum(ss) / size;
  ss += 1e-5f;
  ss = 1.0f / sqrtf(ss);
  for (int j = threadIdx.x; j < size; j += blockDim.x) o[j] = weight[j] * (ss * x[j]);
}
