// r1 dense dense dense dense
#define DAMO_FUNCTION static __device__ __forceinline__
using namespace damo;
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
DAMO_FUNCTION u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }
typedef u32 index;
typedef i32 offset;
struct Arguments {
  const half* p0;
  const half* p1;
  half* p2;
  half* p3;
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
DAMO_FUNCTION void body(float v0, float v1, half& y0, half& y1) {
  const float v3 = f0_mul(v0, 1.5f);
  const float v4 = f1_add(v3, v1);
  const float v5 = f2_tanh(v4);
  const float v6 = f0_mul(v5, v0);
  const float v7 = f3_sub(v0, v1);
  y0 = half(v6);
  y1 = half(v7);
}
extern "C" __global__ void __launch_bounds__(256) damo_mul_add_tanh_mul_sub(const __grid_constant__ Arguments a) {
  const index begin = index(blockIdx.x) * 2048;
  if (a.fast && begin + 2048 <= a.n) {
    Vec<half, 8> x0[1];
    Vec<half, 8> x1[1];
#pragma unroll
    for (u32 u = 0; u < 1; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 8;
      x0[u] = load<8>(a.p0 + at);
      x1[u] = load<8>(a.p1 + at);
    }
#pragma unroll
    for (u32 u = 0; u < 1; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 8;
      Vec<half, 8> y2;
      Vec<half, 8> y3;
#pragma unroll
      for (int k = 0; k < 8; ++k) body(float(x0[u].e[k]), float(x1[u].e[k]), y2.e[k], y3.e[k]);
      store<8>(a.p2 + at, y2);
      store<8>(a.p3 + at, y3);
    }
    return;
  }
#pragma unroll 4
  for (int k = 0; k < 8; ++k) {
    const index at = begin + k * 256 + threadIdx.x;
    if (at >= a.n) return;
    half y2;
    half y3;
    body(float(a.p0[at]), float(a.p1[at]), y2, y3);
    a.p2[at] = y2;
    a.p3[at] = y3;
  }
}
