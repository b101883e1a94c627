//: array float32 x[200] = uniform(-1, 1)
//: array float32 y[200]
//: launch apply<<<2, 128>>>({2.0f, -1.0f, 0.5f, 3}, {x, y, 200ul}, {1, 0, 2.5})
//: check y within 1e-5
struct Coefficients { float a, b, c; int power; };
struct Buffers { const float* in; float* out; size_t n; };
struct __align__(8) Mixed { char flag; double bias; };
__device__ float evaluate(const Coefficients& k, float x) {
  float r = 1.f;
  for (int i = 0; i < k.power; ++i) r *= x;
  return k.a * r + k.b * x + k.c;
}
__global__ void apply(Coefficients k, Buffers b, Mixed m) {
  for (size_t i = threadIdx.x + (size_t)blockIdx.x * blockDim.x; i < b.n; i += (size_t)gridDim.x * blockDim.x)
    b.out[i] = evaluate(k, b.in[i]) + (m.flag ? (float)m.bias : 0.f);
}
