// r1 dense scalar dense dense
#define DAMO_FUNCTION static __device__ __forceinline__
using namespace damo;
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
DAMO_FUNCTION u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }
typedef u32 index;
typedef i32 offset;
struct Arguments {
  const float* p0;
  const float* p1;
  float* p2;
  float* p3;
  u32 n;
  u32 fast;
};
DAMO_FUNCTION float f0_mul(float x0, float x1) {
  typedef float T;
  return static_cast<float>((x0 * x1));
}
DAMO_FUNCTION float f1_add(float x0, float x1) {
  typedef float T;
  return static_cast<float>((x0 + x1));
}
DAMO_FUNCTION float f2_tanh(float x0) {
  typedef float T;
  return static_cast<float>((tanh(x0)));
}
DAMO_FUNCTION float f3_sub(float x0, float x1) {
  typedef float T;
  return static_cast<float>((x0 - x1));
}
DAMO_FUNCTION void body(float v0, float v1, float& y0, float& y1) {
  const float v3 = f0_mul(v0, 1.5f);
  const float v4 = f1_add(v3, v1);
  const float v5 = f2_tanh(v4);
  const float v6 = f0_mul(v5, v0);
  const float v7 = f3_sub(v0, v1);
  y0 = float(v6);
  y1 = float(v7);
}
extern "C" __global__ void __launch_bounds__(256) damo_mul_add_tanh_mul_sub(const __grid_constant__ Arguments a) {
  const float x1 = a.n > 0 ? float(a.p1[0]) : float(0);
  const index begin = index(blockIdx.x) * 1024;
  if (a.fast && begin + 1024 <= a.n) {
    Vec<float, 4> x0[1];
#pragma unroll
    for (u32 u = 0; u < 1; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 4;
      x0[u] = load<4>(a.p0 + at);
    }
#pragma unroll
    for (u32 u = 0; u < 1; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 4;
      Vec<float, 4> y2;
      Vec<float, 4> y3;
#pragma unroll
      for (int k = 0; k < 4; ++k) body(float(x0[u].e[k]), x1, y2.e[k], y3.e[k]);
      store<4>(a.p2 + at, y2);
      store<4>(a.p3 + at, y3);
    }
    return;
  }
#pragma unroll 4
  for (int k = 0; k < 4; ++k) {
    const index at = begin + k * 256 + threadIdx.x;
    if (at >= a.n) return;
    float y2;
    float y3;
    body(float(a.p0[at]), x1, y2, y3);
    a.p2[at] = y2;
    a.p3[at] = y3;
  }
}
