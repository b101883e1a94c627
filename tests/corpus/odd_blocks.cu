// Blocks of 7 x 5 x 3, of 1, of 1024 and of 45 threads, with shuffles, votes and barriers; warps that are not whole.
//: array int32 ranks[1050]
//: array int32 ones[300]
//: array float32 x[4096] = uniform(-1, 1)
//: array float32 tops[4]
//: array int32 ballots[90]
//: array int32 y[90] = integers(0, 100)
//: array int32 sums[90]
//: launch rank_3d<<<(2, 5, 1), (7, 5, 3)>>>(ranks)
//: launch single<<<300, 1>>>(ones)
//: launch top<<<4, 1024>>>(x, tops)
//: launch halves<<<2, 45>>>(y, ballots, sums)
//: check ranks
//: check ones
//: check tops
//: check ballots
//: check sums
__global__ void rank_3d(int *out) {
  __shared__ int total[3][5][7];
  int tid = threadIdx.z * blockDim.y * blockDim.x + threadIdx.y * blockDim.x + threadIdx.x;
  total[threadIdx.z][threadIdx.y][threadIdx.x] = tid;
  __syncthreads();
  int v = total[2 - threadIdx.z][4 - threadIdx.y][6 - threadIdx.x];
  unsigned mask = __activemask();
  int lane = tid % 32, first = __shfl_sync(mask, v, 0);
  int next = __shfl_xor_sync(mask, v, 1);
  if (tid == 104) next = v;
  int block = blockIdx.x + gridDim.x * blockIdx.y;
  out[block * 105 + tid] = v + 1000 * first + 100000 * (lane + next % 2);
}
__global__ void single(int *out) {
  __shared__ int s;
  s = blockIdx.x;
  __syncthreads();
  int v = __shfl_sync(0x1, s, 0);
  v += __syncthreads_count(1) + __popc(__ballot_sync(1, 1));
  out[blockIdx.x] = v;
}
__global__ void __launch_bounds__(1024, 1) top(const float *x, float *out) {
  __shared__ float warps[32];
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int o = warpSize / 2; o; o /= 2) v = fmaxf(v, __shfl_down_sync(0xffffffff, v, o));
  if (threadIdx.x % warpSize == 0) warps[threadIdx.x / warpSize] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warps[threadIdx.x];
    for (int o = 16; o; o >>= 1) v = max(v, __shfl_xor_sync(0xffffffff, v, o));
    if (!threadIdx.x) out[blockIdx.x] = v;
  }
}
__global__ void halves(const int *y, int *ballots, int *sums) {
  int i = blockIdx.x * 45 + threadIdx.x;
  unsigned mask = threadIdx.x < 32 ? 0xffffffffu : (1u << 13) - 1;
  int v = y[i];
  ballots[i] = __popc(__ballot_sync(mask, v > 49)) + (__any_sync(mask, v == 7) ? 100 : 0) + (__all_sync(mask, v < 100) ? 1000 : 0);
  if (v % 2) {
    unsigned active = __activemask();
    int leader = __ffs(active) - 1;
    int who = __shfl_sync(active, v, leader);
    sums[i] = who * 0 + __reduce_add_sync(__match_any_sync(active, v / 10), v);
  } else {
    __syncwarp(__activemask());
    sums[i] = -v;
  }
}
