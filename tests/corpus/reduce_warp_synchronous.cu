// The last warp goes on without barriers, as programs for lanes in step did: through a volatile pointer, and unrolled
// by the block's size.
//: array float32 in[4096] = uniform(0, 1)
//: array float32 out[8]
//: array int32 keys[2048] = integers(-1000, 1000)
//: array int32 sums[4]
//: launch half_blocks<<<8, 256, 1024>>>(in, out)
//: launch strided<128><<<4, 128, 512>>>(keys, sums, 2048)
//: check out within 1e-5
//: check sums
__global__ void half_blocks(const float *in, float *out) {
  extern __shared__ float s[];
  const unsigned t = threadIdx.x, first = blockIdx.x * blockDim.x * 2;
  s[t] = in[first + t] + in[first + t + blockDim.x];
  __syncthreads();
  for (unsigned d = blockDim.x / 2; d > 32; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t < 32) {
    volatile float *v = s;
    v[t] += v[t + 32];
    v[t] += v[t + 16];
    v[t] += v[t + 8];
    v[t] += v[t + 4];
    v[t] += v[t + 2];
    v[t] += v[t + 1];
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
template <int Block>
__device__ void fold(volatile int *v, int t) {
  if (Block >= 64) v[t] += v[t + 32];
  if (Block >= 32) v[t] += v[t + 16];
  if (Block >= 16) v[t] += v[t + 8];
  if (Block >= 8) v[t] += v[t + 4];
  if (Block >= 4) v[t] += v[t + 2];
  if (Block >= 2) v[t] += v[t + 1];
}
template <int Block>
__global__ void strided(const int *in, int *out, int n) {
  extern __shared__ int cells[];
  const int t = threadIdx.x;
  cells[t] = 0;
  for (int i = blockIdx.x * Block * 2 + t; i < n; i += Block * 2 * gridDim.x) cells[t] += in[i] + in[i + Block];
  __syncthreads();
  if (Block >= 128) { if (t < 64) cells[t] += cells[t + 64]; __syncthreads(); }
  if (t < 32) fold<Block>(cells, t);
  if (t == 0) out[blockIdx.x] = cells[0];
}
