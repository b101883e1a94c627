// Radix 2, 256 points, complex numbers as float2 with operators of their own.
//: array float32 re[256] = uniform(-1, 1)
//: array float32 im[256] = uniform(-1, 1)
//: launch fft<<<1, 128>>>(re, im)
//: check re within 1e-4
//: check im within 1e-4
__device__ inline float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ inline float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ inline float2 operator-(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }
__global__ void fft(float* re, float* im) {
  __shared__ float2 s[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) s[__brev(i) >> 24] = make_float2(re[i], im[i]);
  __syncthreads();
  for (int half = 1; half < 256; half <<= 1) {
    const int k = threadIdx.x & (half - 1), at = ((threadIdx.x & ~(half - 1)) << 1) + k;
    float2 w;
    sincospif(-(float)k / half, &w.y, &w.x);
    const float2 a = s[at], b = w * s[at + half];
    s[at] = a + b;
    s[at + half] = a - b;
    __syncthreads();
  }
  for (int i = threadIdx.x; i < 256; i += blockDim.x) re[i] = s[i].x, im[i] = s[i].y;
}
