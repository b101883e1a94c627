// Each warp scans its part of shared memory in step, then the first one scans the sums of all.
//: array int32 in[1024] = integers(0, 9)
//: array int32 out[1024]
//: launch scan<<<4, 256>>>(in, out)
//: check out
__device__ int scan_lanes(volatile int *cell, int t) {
  const int lane = t % 32;
  if (lane >= 1) cell[t] = cell[t - 1] + cell[t];
  if (lane >= 2) cell[t] = cell[t - 2] + cell[t];
  if (lane >= 4) cell[t] = cell[t - 4] + cell[t];
  if (lane >= 8) cell[t] = cell[t - 8] + cell[t];
  if (lane >= 16) cell[t] = cell[t - 16] + cell[t];
  return cell[t];
}
__global__ void scan(const int *in, int *out) {
  __shared__ int cells[256], sums[32];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  cells[t] = in[i];
  if (t < 32) sums[t] = 0;
  __syncthreads();
  int value = scan_lanes(cells, t);
  if (t % 32 == 31) sums[t / 32] = value;
  __syncthreads();
  if (t < 32) scan_lanes(sums, t);
  __syncthreads();
  if (t >= 32) value += sums[t / 32 - 1];
  out[i] = value;
}
