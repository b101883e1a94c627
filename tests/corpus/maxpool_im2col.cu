//: array float32 in[512] = uniform(-1, 1)
//: array float32 pooled[128]
//: array float32 columns[4608]
//: launch maxpool<<<1, 128>>>(in, pooled, 2, 16, 16)
//: launch im2col<<<2, 256>>>(512, in, 16, 16, 3, 1, columns)
//: check pooled
//: check columns
#define CUDA_KERNEL_LOOP(i, n) for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
__global__ void maxpool(const float* in, float* out, int channels, int h, int w) {
  CUDA_KERNEL_LOOP(index, channels * (h / 2) * (w / 2)) {
    const int pw = index % (w / 2), ph = (index / (w / 2)) % (h / 2), c = index / (w / 2) / (h / 2);
    float best = -FLT_MAX;
    for (int y = ph * 2; y < ph * 2 + 2; ++y)
      for (int x = pw * 2; x < pw * 2 + 2; ++x) { const float v = in[(c * h + y) * w + x]; if (v > best) best = v; }
    out[index] = best;
  }
}
__global__ void im2col(const int n, const float* data_im, const int height, const int width, const int kernel, const int pad, float* data_col) {
  CUDA_KERNEL_LOOP(index, n) {
    const int w_col = index % width, h_col = (index / width) % height, c = index / width / height;
    float* col = data_col + (c * kernel * kernel * height + h_col) * width + w_col;
    for (int i = 0; i < kernel; ++i)
      for (int j = 0; j < kernel; ++j) {
        int h = h_col + i - pad, w = w_col + j - pad;
        *col = (h >= 0 && w >= 0 && h < height && w < width) ? data_im[(c * height + h) * width + w] : 0;
        col += height * width;
      }
  }
}
