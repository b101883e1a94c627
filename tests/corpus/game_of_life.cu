//: array uint8 a[1024] = integers(0, 2)
//: array uint8 b[1024]
//: launch life<<<(4, 4), (8, 8)>>>(a, b, 32, 32)
//: launch life<<<(4, 4), (8, 8)>>>(b, a, 32, 32)
//: launch life<<<(4, 4), (8, 8)>>>(a, b, 32, 32)
//: check b
__global__ void life(const unsigned char* in, unsigned char* out, const int W, const int H) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= W || y >= H) return;
  int n = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) {
      if (dx == 0 && dy == 0) continue;
      n += in[((y + dy + H) % H) * W + (x + dx + W) % W];
    }
  switch (n) {
    case 3: out[y * W + x] = 1; break;
    case 2: out[y * W + x] = in[y * W + x]; break;
    default: out[y * W + x] = 0;
  }
}
