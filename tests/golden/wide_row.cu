// r2 wide dense row dense dense
#define DAMO_FUNCTION static __device__ __forceinline__
using namespace damo;
#if __CUDA_ARCH__ >= 900
DAMO_FUNCTION void wait_first() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
#else
DAMO_FUNCTION void wait_first() {}
#endif
template <class T, int N> struct alignas(sizeof(T) * N & -(sizeof(T) * N)) Vec { T e[N]; };
template <int N, class T> DAMO_FUNCTION Vec<T, N> load(const T* p) {
  if constexpr (sizeof(T) * N != 16) return *reinterpret_cast<const Vec<T, N>*>(p);
  u32 word[4];
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
      : "=r"(word[0]), "=r"(word[1]), "=r"(word[2]), "=r"(word[3]) : "l"(p));
  Vec<T, N> vector;
  memcpy(&vector, word, 16);
  return vector;
}
template <int N, class T> DAMO_FUNCTION Vec<T, N> load_again(const T* p) { return *reinterpret_cast<const Vec<T, N>*>(p); }
template <int N, class T> DAMO_FUNCTION void store(T* p, const Vec<T, N>& vector) {
  if constexpr (sizeof(T) * N == 16) {
    u32 word[4];
    memcpy(word, &vector, 16);
    asm volatile("st.global.cs.v4.b32 [%0], {%1, %2, %3, %4};" :: "l"(p), "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3]));
  } else {
    *reinterpret_cast<Vec<T, N>*>(p) = vector;
  }
}
typedef i64 index;
typedef i64 offset;
struct Arguments {
  const float* p0;
  const float* p1;
  float* p2;
  float* p3;
  i64 n;
  i64 extent[2];
  i64 s1[2];
  u32 fast;
};
DAMO_FUNCTION float f0_mul(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 * x1);
}
DAMO_FUNCTION float f1_add(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 + x1);
}
DAMO_FUNCTION float f2_tanh(float x0) {
  typedef float T;
  return convert<float>(tanh(x0));
}
DAMO_FUNCTION float f3_sub(float x0, float x1) {
  typedef float T;
  return convert<float>(x0 - x1);
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
extern "C" __global__ void __launch_bounds__(128) damo_mul_add_tanh_mul_sub(const __grid_constant__ Arguments a) {
  wait_first();
  Vec<float, 4> x0[1];
  Vec<float, 4> x1[1];
  Vec<float, 4> y2[1];
  Vec<float, 4> y3[1];
#pragma unroll
  for (u32 u = 0; u < 1; ++u) {
    const index at = ((index(blockIdx.x) * 1 + u) * 128 + threadIdx.x) * 4;
    const index first = a.fast ? at : at - threadIdx.x * 3, apart = a.fast ? 1 : 128;
    if (a.fast && at + 4 <= a.n) {
      const index q1 = at / a.extent[1];
      const index c1 = at - q1 * a.extent[1];
      const index c0 = q1;
      x0[u] = load<4>(a.p0 + at);
      x1[u] = load_again<4>(a.p1 + (offset(c0) * a.s1[0] + offset(c1)));
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const index one = first + k * apart < a.n ? first + k * apart : 0;
        const index q1 = one / a.extent[1];
        const index c1 = one - q1 * a.extent[1];
        const index c0 = q1;
        x0[u].e[k] = a.p0[one];
        x1[u].e[k] = a.p1[offset(c0) * a.s1[0] + offset(c1)];
      }
    }
  }
#pragma unroll
  for (u32 u = 0; u < 1; ++u) {
    const index at = ((index(blockIdx.x) * 1 + u) * 128 + threadIdx.x) * 4;
    const index first = a.fast ? at : at - threadIdx.x * 3, apart = a.fast ? 1 : 128;
#pragma unroll
    for (int k = 0; k < 4; ++k) body(float(x0[u].e[k]), float(x1[u].e[k]), y2[u].e[k], y3[u].e[k]);
    if (a.fast && at + 4 <= a.n) {
      store<4>(a.p2 + at, y2[u]);
      store<4>(a.p3 + at, y3[u]);
    } else {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const index one = first + k * apart;
        if (one >= a.n) break;
        a.p2[one] = y2[u].e[k];
        a.p3[one] = y3[u].e[k];
      }
    }
  }
}
