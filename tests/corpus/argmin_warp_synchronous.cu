// Lanes part in each step: only those that find a smaller value write.
//: array float32 in[512] = uniform(-5, 5)
//: array float32 least[4]
//: array int32 where[4]
//: launch argmin<<<4, 128>>>(in, least, where)
//: check least
//: check where
__global__ void argmin(const float *in, float *least, int *where) {
  __shared__ volatile float value[128];
  __shared__ volatile int index[128];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  value[t] = in[i];
  index[t] = i;
  __syncthreads();
#define TAKE(d) if (value[t + (d)] < value[t]) { value[t] = value[t + (d)]; index[t] = index[t + (d)]; }
  if (t < 64) { TAKE(64) }
  __syncthreads();
  if (t < 32) { TAKE(32) TAKE(16) TAKE(8) TAKE(4) TAKE(2) TAKE(1) }
  if (t == 0) { least[blockIdx.x] = value[0]; where[blockIdx.x] = index[0]; }
}
