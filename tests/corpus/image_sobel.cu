//: array float32 in[768] = uniform(0, 255)
//: array float32 out[768]
//: launch sobel<<<(4, 3), (8, 8)>>>(in, out, 32, 24)
//: check out within 1e-4
__global__ void sobel(const float* __restrict__ in, float* out, int w, int h) {
  __shared__ float t[10][10];
  const int gx = blockIdx.x * 8 + threadIdx.x, gy = blockIdx.y * 8 + threadIdx.y;
  const int linear = threadIdx.y * 8 + threadIdx.x;
  for (int i = linear; i < 100; i += 64) {
    int x = blockIdx.x * 8 + i % 10 - 1, y = blockIdx.y * 8 + i / 10 - 1;
    x = min(max(x, 0), w - 1); y = min(max(y, 0), h - 1);
    t[i / 10][i % 10] = in[y * w + x];
  }
  __syncthreads();
  if (gx >= w || gy >= h) return;
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  float dx = t[y-1][x+1] + 2*t[y][x+1] + t[y+1][x+1] - t[y-1][x-1] - 2*t[y][x-1] - t[y+1][x-1];
  float dy = t[y+1][x-1] + 2*t[y+1][x] + t[y+1][x+1] - t[y-1][x-1] - 2*t[y-1][x] - t[y-1][x+1];
  out[gy * w + gx] = hypotf(dx, dy);
}
