// Compressed rows, a warp a row.
//: array int32 ptr[101]
//: array int32 col[400]
//: array float64 val[400] = uniform(-1, 1)
//: array float64 x[100] = uniform(-1, 1)
//: array float64 y[100]
//: launch spmv<double><<<25, 128>>>(100, ptr, col, val, x, y)
//: check y within 1e-12
template <typename Real>
__global__ void spmv(int rows, const int* __restrict__ ptr, const int* __restrict__ col, const Real* __restrict__ val, const Real* __restrict__ x, Real* __restrict__ y) {
  const int warp_id = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize;
  const int lane = threadIdx.x & (warpSize - 1);
  if (warp_id >= rows) return;
  Real sum = 0;
  for (int j = ptr[warp_id] + lane; j < ptr[warp_id + 1]; j += warpSize) sum += val[j] * __ldg(&x[col[j]]);
#pragma unroll
  for (int offset = warpSize / 2; offset > 0; offset /= 2) sum += __shfl_down_sync(0xFFFFFFFFU, sum, offset);
  if (lane == 0) y[warp_id] = sum;
}
