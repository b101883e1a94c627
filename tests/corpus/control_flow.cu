// Ways around barriers: goto, switch, do-while, breaks that all threads take, early return, functions with barriers in
// functions with barriers, loops whose bounds are shared, ternaries that call them.
//: array int32 in[512] = integers(0, 1000)
//: array int32 sums[4]
//: array int32 modes[512]
//: array int32 rounds[4]
//: array int32 least[4]
//: array int32 scans[512]
//: array int32 gone[512]
//: array int32 turned[512]
//: launch sum_by_goto<<<4, 128>>>(in, sums)
//: launch by_mode<<<4, 128>>>(in, modes)
//: launch until_settled<<<4, 128>>>(in, rounds, least)
//: launch nested<<<4, 128>>>(in, scans, 3)
//: launch leave_early<<<4, 128>>>(in, gone, 100)
//: launch duff<<<4, 128>>>(in, turned)
//: check sums
//: check modes
//: check rounds
//: check least
//: check scans
//: check gone
//: check turned
__global__ void sum_by_goto(const int *in, int *sums) {
  __shared__ int s[128];
  unsigned t = threadIdx.x, step = 64;
  s[t] = in[blockIdx.x * 128 + t];
again:
  __syncthreads();
  if (step == 0) goto done;
  if (t >= step) goto skip;
  s[t] += s[t + step];
skip:
  step >>= 1;
  goto again;
done:
  if (t == 0) sums[blockIdx.x] = s[0];
}
// The mode is the block's: its threads go the same way through cases that fall through.
__global__ void by_mode(const int *in, int *out) {
  __shared__ int s[128];
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  s[t] = in[i];
  __syncthreads();
  int v = 0;
  switch (blockIdx.x) {
    case 0:
      v = s[127 - t];
      __syncthreads();
      s[t] = v;
    case 1: {
      __syncthreads();
      v = s[(t + 1) % 128];
      break;
    }
    case 2:
      for (int k = 0; k < 3; ++k) {
        int next = s[(t + k) & 127] + k;
        __syncthreads();
        s[t] = next;
        __syncthreads();
        if (k == 1) break;
      }
      v = s[t];
      break;
    default:
      v = -s[t];
  }
  out[i] = v;
}
__global__ void until_settled(const int *in, int *rounds, int *least) {
  __shared__ int s[128];
  __shared__ bool changed;
  const int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  int n = 0;
  do {
    __syncthreads();
    if (t == 0) changed = false;
    __syncthreads();
    const int left = t ? s[t - 1] : s[t];
    const int right = t < 127 ? s[t + 1] : s[t];
    const int v = min(s[t], min(left, right));
    __syncthreads();
    if (v != s[t]) { s[t] = v; changed = true; }
    ++n;
    __syncthreads();
  } while (changed);
  if (t == 0) { rounds[blockIdx.x] = n; least[blockIdx.x] = s[0]; }
}
__device__ int warp_inclusive(int v) {
  for (int d = 1; d < 32; d *= 2) { int o = __shfl_up_sync(~0u, v, d); if ((threadIdx.x & 31) >= d) v += o; }
  return v;
}
__device__ int block_exclusive(int v) {
  __shared__ int tops[4];
  const int inclusive = warp_inclusive(v);
  if ((threadIdx.x & 31) == 31) tops[threadIdx.x >> 5] = inclusive;
  __syncthreads();
  int before = 0;
  for (int w = 0; w < threadIdx.x >> 5; ++w) before += tops[w];
  __syncthreads();
  return before + inclusive - v;
}
__device__ int scan_times(int v, int times) { return times == 0 ? v : block_exclusive(scan_times(v, times - 1)) % 1000; }
__device__ int both(int v) { return block_exclusive(block_exclusive(v) & 7) + (blockIdx.x % 2 ? block_exclusive(1) : 0); }
__global__ void nested(const int *in, int *out, int times) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  out[i] = scan_times(in[i], times) + 1000 * both(in[i]);
}
__global__ void leave_early(const int *in, int *out, int limit) {
  __shared__ int s[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  s[t] = 0;
  out[i] = -1;
  __syncthreads();
  if (t >= limit) return;
  s[t] = in[i];
  __syncthreads();
  if (blockIdx.x == 2) return;
  out[i] = s[limit - 1 - t];
  while (true) {
    __syncthreads();
    s[t] >>= 1;
    if (__syncthreads_and(s[t] == 0)) break;
    out[i]++;
  }
}
__global__ void duff(const int *in, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = in[i] % 13 + 1, n = (count + 3) / 4, x = in[i];
  switch (count % 4) {
    case 0: do { x = x * 3 + 1;
    case 3:      x ^= x >> 3;
    case 2:      x += 7;
    case 1:      x = x % 100003;
            } while (--n > 0);
  }
  out[i] = x;
}
