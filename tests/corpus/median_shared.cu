// Median of 3 x 3 pixels by a network of exchanges in registers; the tile comes with its border, clamped.
//: array uint8 in[1200] = integers(0, 256)
//: array uint8 out[1200]
//: launch median<<<(3, 4), (16, 8)>>>(in, out, 40, 30)
//: check out
typedef unsigned char pixel;
__device__ inline void order(pixel &a, pixel &b) { const pixel low = min(a, b); b = max(a, b); a = low; }
__global__ void median(const pixel *in, pixel *out, int width, int height) {
  __shared__ pixel tile[10][18];
  const int x0 = blockIdx.x * blockDim.x, y0 = blockIdx.y * blockDim.y;
  for (int i = threadIdx.y * blockDim.x + threadIdx.x; i < 180; i += blockDim.x * blockDim.y) {
    const int x = min(max(x0 + i % 18 - 1, 0), width - 1), y = min(max(y0 + i / 18 - 1, 0), height - 1);
    tile[i / 18][i % 18] = in[y * width + x];
  }
  __syncthreads();
  const int x = x0 + threadIdx.x, y = y0 + threadIdx.y;
  if (x >= width || y >= height) return;
  pixel v[9];
#pragma unroll
  for (int i = 0; i < 9; ++i) v[i] = tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
#pragma unroll
  for (int i = 0; i < 5; ++i)
#pragma unroll
    for (int j = 8; j > i; --j) order(v[j - 1], v[j]);
  out[y * width + x] = v[4];
}
