//: array int32 in[256] = integers(0, 40)
//: array int32 out[24]
//: launch votes<<<1, 256>>>(in, out)
//: check out
extern "C" __global__ void votes(const int* in, int* out) {
  const int v = in[threadIdx.x], warp = threadIdx.x / warpSize;
  const int all = __all_sync(0xffffffff, v < 39), any = __any_sync(0xffffffff, v == 7);
  const int count = __syncthreads_count(v > 20), every = __syncthreads_and(v >= 0), some = __syncthreads_or(v > 1000);
  if (threadIdx.x % warpSize == 0) {
    out[warp * 3] = all + 10 * any;
    out[warp * 3 + 1] = count;
    out[warp * 3 + 2] = every + 10 * some;
  }
}
