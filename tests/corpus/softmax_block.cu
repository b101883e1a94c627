// A block a row, two reductions in dynamic shared memory.
//: array float32 x[2400] = uniform(-8, 8)
//: array float32 y[2400]
//: launch softmax<<<8, 128, 512>>>(x, y, 300)
//: check y within 1e-6
extern "C" __global__ void softmax(const float* x, float* y, int n) {
  extern __shared__ float s[];
  const float* row = x + (size_t)blockIdx.x * n;
  float m = -FLT_MAX;
  for (int i = threadIdx.x; i < n; i += blockDim.x) m = fmaxf(m, row[i]);
  s[threadIdx.x] = m;
  __syncthreads();
  for (int k = blockDim.x / 2; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] = fmaxf(s[threadIdx.x], s[threadIdx.x + k]);
    __syncthreads();
  }
  m = s[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += __expf(row[i] - m);
  s[threadIdx.x] = sum;
  __syncthreads();
  for (int k = blockDim.x / 2; k; k >>= 1) {
    if (threadIdx.x < k) s[threadIdx.x] += s[threadIdx.x + k];
    __syncthreads();
  }
  const float scale = 1.0f / s[0];
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = __expf(row[i] - m) * scale;
}
