// The pairs of cuda_half.h: each function is the scalar one on both parts.
#pragma once
#include "cuda_atomics.h"
#pragma clang force_cuda_host_device begin

#define __DAMO_BOTH(V, name, scalar) inline V name(V a, V b) { return V{scalar(a.x, b.x), scalar(a.y, b.y)}; }
#define __DAMO_EACH(V, name, scalar) inline V name(V a) { return V{scalar(a.x), scalar(a.y)}; }
#define __DAMO_THREE(V, name, scalar) inline V name(V a, V b, V c) { return V{scalar(a.x, b.x, c.x), scalar(a.y, b.y, c.y)}; }
#define __DAMO_COMPARISON(V, H, name)                                                                              \
  inline V __h##name##2(V a, V b) { return V{H(__h##name(a.x, b.x) ? 1.0f : 0.0f), H(__h##name(a.y, b.y) ? 1.0f : 0.0f)}; } \
  inline bool __hb##name##2(V a, V b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }                       \
  inline unsigned __h##name##2_mask(V a, V b) {                                                                    \
    return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u);                        \
  }
#define __DAMO_OPERATOR(V, op, name)                                         \
  inline V operator op(V a, V b) { return name(a, b); }                      \
  inline V& operator op##=(V& a, V b) { return a = name(a, b); }
#define __DAMO_RELATION(V, op, name) inline bool operator op(V a, V b) { return name(a, b); }

#define __DAMO_PAIR(V, H, N)                                                                                 \
  inline V __halves2##N##2(H low, H high) { return V{low, high}; }                                           \
  inline V __##N##2##N##2(H x) { return V{x, x}; }                                                           \
  inline H __low2##N(V v) { return v.x; }                                                                    \
  inline H __high2##N(V v) { return v.y; }                                                                   \
  inline V __low2##N##2(V v) { return V{v.x, v.x}; }                                                         \
  inline V __high2##N##2(V v) { return V{v.y, v.y}; }                                                        \
  inline V __lows2##N##2(V a, V b) { return V{a.x, b.x}; }                                                   \
  inline V __highs2##N##2(V a, V b) { return V{a.y, b.y}; }                                                  \
  inline V __lowhigh2highlow(V v) { return V{v.y, v.x}; }                                                    \
  inline float __low2float(V v) { return float(v.x); }                                                       \
  inline float __high2float(V v) { return float(v.y); }                                                      \
  inline V __float2##N##2_rn(float x) { return V{H(x), H(x)}; }                                              \
  inline V __floats2##N##2_rn(float x, float y) { return V{H(x), H(y)}; }                                    \
  inline V __float22##N##2_rn(float2 v) { return V{H(v.x), H(v.y)}; }                                        \
  inline float2 __##N##22float2(V v) { return float2{float(v.x), float(v.y)}; }                              \
  __DAMO_BOTH(V, __hadd2, __hadd) __DAMO_BOTH(V, __hsub2, __hsub) __DAMO_BOTH(V, __hmul2, __hmul)            \
  __DAMO_BOTH(V, __h2div, __hdiv)                                                                            \
  __DAMO_BOTH(V, __hadd2_rn, __hadd) __DAMO_BOTH(V, __hsub2_rn, __hsub) __DAMO_BOTH(V, __hmul2_rn, __hmul)   \
  __DAMO_BOTH(V, __hadd2_sat, __hadd_sat) __DAMO_BOTH(V, __hsub2_sat, __hsub_sat)                            \
  __DAMO_BOTH(V, __hmul2_sat, __hmul_sat)                                                                    \
  __DAMO_BOTH(V, __hmin2, __hmin) __DAMO_BOTH(V, __hmax2, __hmax)                                            \
  __DAMO_BOTH(V, __hmin2_nan, __hmin_nan) __DAMO_BOTH(V, __hmax2_nan, __hmax_nan)                            \
  __DAMO_THREE(V, __hfma2, __hfma) __DAMO_THREE(V, __hfma2_sat, __hfma_sat)                                  \
  __DAMO_THREE(V, __hfma2_relu, __hfma_relu)                                                                 \
  __DAMO_EACH(V, __hneg2, __hneg) __DAMO_EACH(V, __habs2, __habs)                                            \
  __DAMO_EACH(V, h2exp, hexp) __DAMO_EACH(V, h2exp2, hexp2) __DAMO_EACH(V, h2exp10, hexp10)                  \
  __DAMO_EACH(V, h2log, hlog) __DAMO_EACH(V, h2log2, hlog2) __DAMO_EACH(V, h2log10, hlog10)                  \
  __DAMO_EACH(V, h2sin, hsin) __DAMO_EACH(V, h2cos, hcos) __DAMO_EACH(V, h2tanh, htanh)                      \
  __DAMO_EACH(V, h2tanh_approx, htanh) __DAMO_EACH(V, h2sqrt, hsqrt) __DAMO_EACH(V, h2rsqrt, hrsqrt)         \
  __DAMO_EACH(V, h2rcp, hrcp) __DAMO_EACH(V, h2floor, hfloor) __DAMO_EACH(V, h2ceil, hceil)                  \
  __DAMO_EACH(V, h2rint, hrint) __DAMO_EACH(V, h2trunc, htrunc)                                              \
  __DAMO_COMPARISON(V, H, eq) __DAMO_COMPARISON(V, H, ne) __DAMO_COMPARISON(V, H, lt)                        \
  __DAMO_COMPARISON(V, H, le) __DAMO_COMPARISON(V, H, gt) __DAMO_COMPARISON(V, H, ge)                        \
  __DAMO_COMPARISON(V, H, equ) __DAMO_COMPARISON(V, H, neu) __DAMO_COMPARISON(V, H, ltu)                     \
  __DAMO_COMPARISON(V, H, leu) __DAMO_COMPARISON(V, H, gtu) __DAMO_COMPARISON(V, H, geu)                     \
  inline V __hisnan2(V v) { return V{H(__hisnan(v.x) ? 1.0f : 0.0f), H(__hisnan(v.y) ? 1.0f : 0.0f)}; }      \
  /* (a.x + i a.y) * (b.x + i b.y) + c, in four fused steps */                                               \
  inline V __hcmadd(V a, V b, V c) {                                                                         \
    const H real = __hfma(a.x, b.x, c.x), imaginary = __hfma(a.x, b.y, c.y);                                 \
    return V{__hfma(__hneg(a.y), b.y, real), __hfma(a.y, b.x, imaginary)};                                   \
  }                                                                                                          \
  __DAMO_OPERATOR(V, +, __hadd2) __DAMO_OPERATOR(V, -, __hsub2)                                              \
  __DAMO_OPERATOR(V, *, __hmul2) __DAMO_OPERATOR(V, /, __h2div)                                              \
  inline V operator-(V a) { return __hneg2(a); }                                                             \
  inline V operator+(V a) { return a; }                                                                      \
  inline V& operator++(V& a) { return a = __hadd2(a, V{H(1.0f), H(1.0f)}); }                                 \
  inline V& operator--(V& a) { return a = __hsub2(a, V{H(1.0f), H(1.0f)}); }                                 \
  __DAMO_RELATION(V, ==, __hbeq2) __DAMO_RELATION(V, !=, __hbneu2) __DAMO_RELATION(V, <, __hblt2)            \
  __DAMO_RELATION(V, <=, __hble2) __DAMO_RELATION(V, >, __hbgt2) __DAMO_RELATION(V, >=, __hbge2)             \
  __device__ inline H atomicAdd(H* p, H v) {                                                                 \
    auto sum = [v](unsigned short old) { return __##N##_as_ushort(__hadd(__ushort_as_##N(old), v)); };       \
    return __ushort_as_##N(damo::cuda::update((unsigned short*)p, sum));                                     \
  }                                                                                                          \
  __device__ inline V atomicAdd(V* p, V v) { return V{atomicAdd(&p->x, v.x), atomicAdd(&p->y, v.y)}; }
__DAMO_PAIR(__half2, __half, half)
__DAMO_PAIR(__nv_bfloat162, __nv_bfloat16, bfloat16)
#undef __DAMO_PAIR
#undef __DAMO_BOTH
#undef __DAMO_EACH
#undef __DAMO_THREE
#undef __DAMO_COMPARISON
#undef __DAMO_OPERATOR
#undef __DAMO_RELATION

#pragma clang force_cuda_host_device end
