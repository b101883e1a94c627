//: array int32 in[1024] = integers(-5, 20)
//: array int32 out[1024]
//: array int32 sums[4]
//: launch block_scan<<<4, 256>>>(in, out, sums, 1024)
//: launch add_sums<<<4, 256>>>(out, sums)
//: check out
__device__ int warp_scan(int v) {
  const int lane = threadIdx.x & 31;
#pragma unroll
  for (int d = 1; d < 32; d <<= 1) {
    int other = __shfl_up_sync(0xffffffffu, v, d);
    if (lane >= d) v += other;
  }
  return v;
}
__global__ void block_scan(const int* in, int* out, int* sums, int n) {
  __shared__ int totals[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, warp = threadIdx.x >> 5;
  int v = warp_scan(i < n ? in[i] : 0);
  if ((threadIdx.x & 31) == 31) totals[warp] = v;
  __syncthreads();
  if (warp == 0) {
    int t = threadIdx.x < (blockDim.x >> 5) ? totals[threadIdx.x] : 0;
    totals[threadIdx.x] = warp_scan(t);
  }
  __syncthreads();
  if (warp > 0) v += totals[warp - 1];
  if (i < n) out[i] = v;
  if (threadIdx.x == blockDim.x - 1) sums[blockIdx.x] = v;
}
__global__ void add_sums(int* out, const int* sums) {
  int before = 0;
  for (int b = 0; b < blockIdx.x; ++b) before += sums[b];
  out[blockIdx.x * blockDim.x + threadIdx.x] += before;
}
