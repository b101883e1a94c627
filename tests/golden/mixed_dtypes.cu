// r1 dense dense dense dense dense
#define DAMO_FUNCTION static __device__ __forceinline__
using namespace damo;
template <class T, int N> struct alignas(sizeof(T) * N) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& v) { *reinterpret_cast<Vec<T, N>*>(p) = v; }
DAMO_FUNCTION u32 divide(u32 n, u32 magic, u32 shift) { return (__umulhi(n, magic) + n) >> shift; }
typedef u32 index;
typedef i32 offset;
struct Arguments {
  const bool* p0;
  const half* p1;
  const i8* p2;
  float* p3;
  half* p4;
  u32 n;
  u32 fast;
};
DAMO_FUNCTION float f0_cast(float x0) {
  typedef float T;
  return static_cast<float>((x0));
}
DAMO_FUNCTION float f1_where(bool x0, float x1, float x2) {
  typedef float T;
  return static_cast<float>((x0 ? x1 : x2));
}
DAMO_FUNCTION float f2_cast(float x0) {
  typedef float T;
  return static_cast<float>(float(half(x0)));
}
DAMO_FUNCTION void body(bool v0, float v1, i8 v2, float& y0, half& y1) {
  const float v3 = f0_cast(static_cast<float>(v2));
  const float v4 = f1_where(v0, v1, v3);
  const float v5 = f2_cast(v4);
  y0 = float(v4);
  y1 = half(v5);
}
extern "C" __global__ void __launch_bounds__(256) damo_cast_where_cast(const __grid_constant__ Arguments a) {
  const index begin = index(blockIdx.x) * 2048;
  if (a.fast && begin + 2048 <= a.n) {
    Vec<bool, 4> x0[2];
    Vec<half, 4> x1[2];
    Vec<i8, 4> x2[2];
#pragma unroll
    for (u32 u = 0; u < 2; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 4;
      x0[u] = load<4>(a.p0 + at);
      x1[u] = load<4>(a.p1 + at);
      x2[u] = load<4>(a.p2 + at);
    }
#pragma unroll
    for (u32 u = 0; u < 2; ++u) {
      const index at = begin + (u * 256 + threadIdx.x) * 4;
      Vec<float, 4> y3;
      Vec<half, 4> y4;
#pragma unroll
      for (int k = 0; k < 4; ++k) body(bool(x0[u].e[k]), float(x1[u].e[k]), i8(x2[u].e[k]), y3.e[k], y4.e[k]);
      store<4>(a.p3 + at, y3);
      store<4>(a.p4 + at, y4);
    }
    return;
  }
#pragma unroll 4
  for (int k = 0; k < 8; ++k) {
    const index at = begin + k * 256 + threadIdx.x;
    if (at >= a.n) return;
    float y3;
    half y4;
    body(bool(a.p0[at]), float(a.p1[at]), i8(a.p2[at]), y3, y4);
    a.p3[at] = y3;
    a.p4[at] = y4;
  }
}
