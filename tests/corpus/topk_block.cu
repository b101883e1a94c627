// Five times the maximum, striking out what was found.
//: array float32 x[300] = uniform(0, 1)
//: array float32 best[5]
//: launch topk<5><<<1, 64>>>(x, 300, best)
//: check best
template <int K> __global__ void topk(float* x, int n, float* best) {
  __shared__ float value[64];
  __shared__ int index[64];
  for (int k = 0; k < K; ++k) {
    float v = -1.f; int at = -1;
    for (int i = threadIdx.x; i < n; i += blockDim.x) if (x[i] > v) v = x[i], at = i;
    value[threadIdx.x] = v; index[threadIdx.x] = at;
    __syncthreads();
    for (int s = 32; s > 0; s >>= 1) {
      if (threadIdx.x < s && value[threadIdx.x + s] > value[threadIdx.x]) {
        value[threadIdx.x] = value[threadIdx.x + s];
        index[threadIdx.x] = index[threadIdx.x + s];
      }
      __syncthreads();
    }
    if (threadIdx.x == 0) { best[k] = value[0]; x[index[0]] = -2.f; }
    __syncthreads();
  }
}
