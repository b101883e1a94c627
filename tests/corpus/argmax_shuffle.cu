//: array float32 in[900] = uniform(-100, 100)
//: array float32 best[1]
//: array int32 where[1]
//: launch argmax<<<1, 128>>>(in, 900, best, where)
//: check best
//: check where
struct Best { float value; int index; };
__device__ __forceinline__ Best better(const Best& a, const Best& b) {
  return (b.value > a.value || (b.value == a.value && b.index < a.index)) ? b : a;
}
__device__ Best warp_best(Best b) {
  for (int mask = 16; mask; mask >>= 1) {
    Best other;
    other.value = __shfl_xor_sync(~0u, b.value, mask);
    other.index = __shfl_xor_sync(~0u, b.index, mask);
    b = better(b, other);
  }
  return b;
}
extern "C" __global__ void argmax(const float* in, int n, float* best, int* where) {
  __shared__ Best warps[32];
  Best b = {-CUDART_INF_F, 0x7fffffff};
  for (int i = threadIdx.x; i < n; i += blockDim.x) b = better(b, Best{in[i], i});
  b = warp_best(b);
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = b;
  __syncthreads();
  if (threadIdx.x < 32) {
    b = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : Best{-CUDART_INF_F, 0x7fffffff};
    b = warp_best(b);
    if (threadIdx.x == 0) *best = b.value, *where = b.index;
  }
}
