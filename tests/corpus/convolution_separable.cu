// Rows, then columns.
//: array float32 image[1200] = uniform(0, 1)
//: array float32 middle[1200]
//: array float32 result[1200]
//: launch rows<<<(5, 2), (8, 15)>>>(middle, image, 40, 30)
//: launch columns<<<(5, 2), (8, 15)>>>(result, middle, 40, 30)
//: check result within 1e-5
//: flags -DKERNEL_RADIUS=2
__device__ __constant__ float d_Kernel[2 * KERNEL_RADIUS + 1] = { 1.f/16, 4.f/16, 6.f/16, 4.f/16, 1.f/16 };
__device__ int clampi(int v, int lo, int hi) { return v < lo ? lo : (v > hi ? hi : v); }
extern "C" {
__global__ void rows(float *d_Dst, float *d_Src, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
#pragma unroll
  for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; k++) sum += d_Src[y * w + clampi(x + k, 0, w - 1)] * d_Kernel[KERNEL_RADIUS - k];
  d_Dst[y * w + x] = sum;
}
__global__ void columns(float *d_Dst, float *d_Src, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
#pragma unroll
  for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; k++) sum += d_Src[clampi(y + k, 0, h - 1) * w + x] * d_Kernel[KERNEL_RADIUS - k];
  d_Dst[y * w + x] = sum;
}
}
