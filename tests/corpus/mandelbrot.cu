//: array int32 iterations[1536]
//: launch mandel<<<(3, 4), (16, 8)>>>(iterations, 48, 32, 100)
//: check iterations
__global__ void mandel(int *out, int w, int h, int max_iter) {
  int px = blockIdx.x * blockDim.x + threadIdx.x;
  int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= w || py >= h) return;
  double x0 = px / (double)w * 3.5 - 2.5, y0 = py / (double)h * 2.0 - 1.0;
  double x = 0.0, y = 0.0;
  int it = 0;
  while (x*x + y*y <= 4.0 && it < max_iter) {
    double xt = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), x0);
    y = __dadd_rn(__dmul_rn(2.0 * x, y), y0);
    x = xt;
    it++;
  }
  out[py * w + px] = it;
}
