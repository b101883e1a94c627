// A warp a row, four numbers a load.
//: array float32 W[4096] = uniform(-1, 1)
//: array float32 x[128] = uniform(-1, 1)
//: array float32 y[32]
//: launch mat_vec<<<8, 128>>>(y, x, W, 128, 32)
//: check y within 1e-5
__global__ void mat_vec(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ W, int n, int d) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 0x1f;
  if (row >= d) return;
  const float4* w4 = (const float4*)(W + row * n);
  const float4* x4 = (const float4*)x;
  float sum = 0.0f;
  for (int i = lane; i < n / 4; i += 32) {
    const float4 w = w4[i], v = __ldg(x4 + i);
    sum += w.x * v.x + w.y * v.y + w.z * v.z + w.w * v.w;
  }
  #pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) sum += __shfl_xor_sync(0xffffffff, sum, mask, 32);
  if (lane == 0) y[row] = sum;
}
