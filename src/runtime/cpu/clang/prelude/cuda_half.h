// __half, __half2, __nv_bfloat16, __nv_bfloat162 and the functions of cuda_fp16.h and cuda_bf16.h. Each operation is
// float's (fma: double's) rounded once to 16 bits, which is what a rounding of the exact result would give. Read when a
// source includes one of those headers or names the types.
#pragma once
#include "cuda_math.h"
#include "cuda_atomics.h"
#include "cuda_intrinsics.h"
#include "convert.h"
#pragma clang force_cuda_host_device begin

using __half = damo::half;
using half = damo::half;
using __nv_half = damo::half;
using nv_half = damo::half;
using __nv_bfloat16 = damo::bfloat16;
using nv_bfloat16 = damo::bfloat16;
using bfloat16 = damo::bfloat16;

// Both parts of a pair default to 0 only when a value is asked for: arrays in shared memory have no constructor to run.
#define __DAMO_TYPES(H, Raw, V, make)                                            \
  struct Raw {                                                                   \
    unsigned short x;                                                            \
    Raw() = default;                                                             \
    constexpr Raw(H h) : x(__builtin_bit_cast(unsigned short, h)) {}             \
    constexpr operator H() const { return __builtin_bit_cast(H, x); }            \
  };                                                                             \
  struct __attribute__((aligned(4))) V {                                         \
    H x, y;                                                                      \
    V() = default;                                                               \
    constexpr V(H x, H y) : x(x), y(y) {}                                        \
  };                                                                             \
  inline V make(H x, H y) { return {x, y}; }
__DAMO_TYPES(__half, __half_raw, __half2, make_half2)
__DAMO_TYPES(__nv_bfloat16, __nv_bfloat16_raw, __nv_bfloat162, make_bfloat162)
using half2 = __half2;
using __nv_half2 = __half2;
using nv_bfloat162 = __nv_bfloat162;

namespace damo::cuda {

template <class H>
inline unsigned short half_bits(H h) { return __builtin_bit_cast(unsigned short, h); }
template <class H>
inline H half_from(unsigned short bits) { return __builtin_bit_cast(H, bits); }
template <class H>
inline bool half_isnan(H h) { return ::isnan(float(h)); }

// A 64-bit integer as a double that keeps what a rounding to 16 bits has to know.
template <class I>
inline double wide_of(I x) {
  if (double(x) < 0x1p53 && double(x) > -0x1p53) return double(x);
  return double(I(x >> 11) | I((x & 0x7ff) != 0)) * 2048.0;
}
inline double wide_of(float x) { return x; }
// mode: 'z' towards zero, 'u' up, 'd' down.
template <class H>
inline H half_directed(double x, char mode) {
  const H nearest = convert<H>(x);
  const double back = double(float(nearest));
  const unsigned short bits = half_bits(nearest);
  const bool negative = bits & 0x8000;
  if (mode == 'z') return ::fabs(back) > ::fabs(x) ? half_from<H>(bits - 1) : nearest;
  if (mode == 'u' && back < x) return half_from<H>(negative ? (bits == 0x8000 ? 1 : bits - 1) : bits + 1);
  if (mode == 'd' && back > x) return half_from<H>(negative ? bits + 1 : (bits == 0 ? 0x8001 : bits - 1));
  return nearest;
}
// a * b is exact in Wide: float for binary16, double for bfloat16, whose exponents lie farther apart. What the sum loses is
// folded into its last bit (to odd), so that the rounding to 16 bits is the only one.
template <class Wide, class H>
inline H fused_multiply_add(H a, H b, H c) {
  const damo::math::Pair<Wide> sum = damo::math::two_sum(Wide(float(a)) * Wide(float(b)), Wide(float(c)));
  const auto word = damo::math::bits(sum.hi);
  const decltype(damo::math::bits(Wide())) inexact = sum.lo < 0 || sum.lo > 0;  // NaN: nothing was lost, the sum is infinite
  const auto too_large = inexact & (word ^ damo::math::bits(sum.lo)) >> (8 * sizeof(Wide) - 1);
  return convert<H>(__builtin_bit_cast(Wide, (word - too_large) | inexact));
}
inline __half half_fma(__half a, __half b, __half c) { return fused_multiply_add<float>(a, b, c); }
inline __nv_bfloat16 half_fma(__nv_bfloat16 a, __nv_bfloat16 b, __nv_bfloat16 c) { return fused_multiply_add<double>(a, b, c); }
template <class H>
inline H half_saturate(H x) { return half_isnan(x) ? H(0.0f) : x < H(0.0f) ? H(0.0f) : x > H(1.0f) ? H(1.0f) : x; }
template <class H>
inline H half_relu(H x) { return half_isnan(x) ? half_from<H>(0x7fff) : x < H(0.0f) ? H(0.0f) : x; }
template <class H>
inline H half_least(H a, H b) { return half_isnan(a) ? b : half_isnan(b) ? a : float(b) < float(a) ? b : a; }
template <class H>
inline H half_greatest(H a, H b) { return half_isnan(a) ? b : half_isnan(b) ? a : float(a) < float(b) ? b : a; }

}  // namespace damo::cuda

// bfloat16's own arithmetic, one rounding an operation; with a float or a double it stays theirs. half's is built in.
namespace damo {
#define __DAMO_OPERATOR(op)                                                                            \
  template <class A, class = typename If<__is_same(A, bfloat16), A>::type>                                                   \
  inline bfloat16 operator op(A a, A b) { return bfloat16(float(a) op float(b)); }
__DAMO_OPERATOR(+) __DAMO_OPERATOR(-) __DAMO_OPERATOR(*) __DAMO_OPERATOR(/)
#undef __DAMO_OPERATOR
template <class A, class = typename If<__is_same(A, bfloat16), A>::type>
inline bfloat16 operator-(A a) { return __builtin_bit_cast(bfloat16, (unsigned short)(a.bits ^ 0x8000)); }
inline bfloat16& operator++(bfloat16& a) { return a = bfloat16(float(a) + 1.0f); }
inline bfloat16& operator--(bfloat16& a) { return a = bfloat16(float(a) - 1.0f); }
inline bfloat16 operator++(bfloat16& a, int) { const bfloat16 old = a; ++a; return old; }
inline bfloat16 operator--(bfloat16& a, int) { const bfloat16 old = a; --a; return old; }
}  // namespace damo

// A raw number stands for its value where it meets another: C++ does not look for the built-in operators of _Float16 once an operand is a class.
template <class A, class B = A>
struct __damo_of_raw : damo::If<__is_same(A, __half_raw) || __is_same(B, __half_raw), __half>,
                       damo::If<__is_same(A, __nv_bfloat16_raw) || __is_same(B, __nv_bfloat16_raw), __nv_bfloat16> {};
#define __DAMO_RAW_OPERATOR(op)                                                                              \
  template <class A, class B, class H = typename __damo_of_raw<A, B>::type>                                  \
  inline auto operator op(const A& a, const B& b) -> decltype(H(a) op H(b)) { return H(a) op H(b); }
#define __DAMO_RAW_OPERATORS(op) __DAMO_RAW_OPERATOR(op)                                                     \
  template <class B>                                                                                         \
  inline typename __damo_of_raw<B>::type& operator op##=(typename __damo_of_raw<B>::type& a, const B& b) { return a = a op b; }
__DAMO_RAW_OPERATORS(+) __DAMO_RAW_OPERATORS(-) __DAMO_RAW_OPERATORS(*) __DAMO_RAW_OPERATORS(/)
__DAMO_RAW_OPERATOR(==) __DAMO_RAW_OPERATOR(!=) __DAMO_RAW_OPERATOR(<) __DAMO_RAW_OPERATOR(>) __DAMO_RAW_OPERATOR(<=) __DAMO_RAW_OPERATOR(>=)

// ---- scalars: H is the type, N its name in function names ----------------------------------------------------------
#define __DAMO_ARITHMETIC(H, name, op)                                                   \
  inline H __h##name(H a, H b) { return H(float(a) op float(b)); }                       \
  inline H __h##name##_rn(H a, H b) { return H(float(a) op float(b)); }                  \
  inline H __h##name##_sat(H a, H b) { return damo::cuda::half_saturate(H(float(a) op float(b))); }
#define __DAMO_COMPARISON(H, name, op)                                                   \
  inline bool __h##name(H a, H b) { return float(a) op float(b); }                       \
  inline bool __h##name##u(H a, H b) { return damo::cuda::half_isnan(a) || damo::cuda::half_isnan(b) || float(a) op float(b); }
#define __DAMO_FUNCTION(H, name, call) inline H h##name(H x) { return H(call(float(x))); }
#define __DAMO_FUNCTIONS(X, H)                                                                               \
  X(H, exp, expf) X(H, exp2, exp2f) X(H, exp10, exp10f) X(H, log, logf) X(H, log2, log2f) X(H, log10, log10f) \
  X(H, sin, sinf) X(H, cos, cosf) X(H, tanh, tanhf) X(H, tanh_approx, tanhf) X(H, sqrt, sqrtf)                \
  X(H, rsqrt, rsqrtf) X(H, rcp, 1.0f /) X(H, floor, floorf) X(H, ceil, ceilf) X(H, rint, rintf) X(H, trunc, truncf)
#define __DAMO_FROM(H, N, T, from)                                                                            \
  inline H __##from##2##N##_rn(T x) { return damo::convert<H>(x); }                                           \
  inline H __##from##2##N##_rz(T x) { return damo::cuda::half_directed<H>(damo::cuda::wide_of(x), 'z'); }     \
  inline H __##from##2##N##_ru(T x) { return damo::cuda::half_directed<H>(damo::cuda::wide_of(x), 'u'); }     \
  inline H __##from##2##N##_rd(T x) { return damo::cuda::half_directed<H>(damo::cuda::wide_of(x), 'd'); }
// Out of range a conversion gives the nearest integer there is, of a NaN 0.
#define __DAMO_TO_INTEGER(H, N, I, to)                                                                        \
  inline I __##N##2##to##_rn(H x) { return (I)rintf(float(x)); }                                              \
  inline I __##N##2##to##_rz(H x) { return (I)truncf(float(x)); }                                             \
  inline I __##N##2##to##_ru(H x) { return (I)ceilf(float(x)); }                                              \
  inline I __##N##2##to##_rd(H x) { return (I)floorf(float(x)); }
#define __DAMO_INTEGER_BOTH_WAYS(H, N, I, name) __DAMO_FROM(H, N, I, name) __DAMO_TO_INTEGER(H, N, I, name)

#define __DAMO_HALF(H, N)                                                                                    \
  inline H __float2##N(float x) { return H(x); }                                                             \
  __DAMO_FROM(H, N, float, float)                                                                            \
  inline H __double2##N(double x) { return damo::convert<H>(x); }                                            \
  inline float __##N##2float(H x) { return float(x); }                                                       \
  inline short __##N##_as_short(H x) { return short(damo::cuda::half_bits(x)); }                             \
  inline unsigned short __##N##_as_ushort(H x) { return damo::cuda::half_bits(x); }                          \
  inline H __short_as_##N(short x) { return damo::cuda::half_from<H>((unsigned short)x); }                   \
  inline H __ushort_as_##N(unsigned short x) { return damo::cuda::half_from<H>(x); }                         \
  __DAMO_INTEGER_BOTH_WAYS(H, N, int, int) __DAMO_INTEGER_BOTH_WAYS(H, N, unsigned, uint)                    \
  __DAMO_INTEGER_BOTH_WAYS(H, N, short, short) __DAMO_INTEGER_BOTH_WAYS(H, N, unsigned short, ushort)        \
  __DAMO_INTEGER_BOTH_WAYS(H, N, long long, ll) __DAMO_INTEGER_BOTH_WAYS(H, N, unsigned long long, ull)      \
  inline signed char __##N##2char_rz(H x) { return (signed char)float(x); }                                  \
  inline unsigned char __##N##2uchar_rz(H x) { return (unsigned char)float(x); }                             \
  __DAMO_ARITHMETIC(H, add, +) __DAMO_ARITHMETIC(H, sub, -) __DAMO_ARITHMETIC(H, mul, *)                     \
  inline H __hdiv(H a, H b) { return H(float(a) / float(b)); }                                               \
  inline H __hfma(H a, H b, H c) { return damo::cuda::half_fma(a, b, c); }                                   \
  inline H __hfma_sat(H a, H b, H c) { return damo::cuda::half_saturate(__hfma(a, b, c)); }                  \
  inline H __hfma_relu(H a, H b, H c) { return damo::cuda::half_relu(__hfma(a, b, c)); }                     \
  inline H __hneg(H x) { return damo::cuda::half_from<H>(damo::cuda::half_bits(x) ^ 0x8000); }               \
  inline H __habs(H x) { return damo::cuda::half_from<H>(damo::cuda::half_bits(x) & 0x7fff); }               \
  __DAMO_COMPARISON(H, eq, ==) __DAMO_COMPARISON(H, lt, <) __DAMO_COMPARISON(H, le, <=)                      \
  __DAMO_COMPARISON(H, gt, >) __DAMO_COMPARISON(H, ge, >=)                                                   \
  inline bool __hne(H a, H b) { return float(a) < float(b) || float(a) > float(b); }                         \
  inline bool __hneu(H a, H b) { return float(a) != float(b); }                                              \
  inline bool __hisnan(H x) { return damo::cuda::half_isnan(x); }                                            \
  inline int __hisinf(H x) { return isinf(float(x)) ? (float(x) < 0 ? -1 : 1) : 0; }                         \
  inline H __hmin(H a, H b) { return damo::cuda::half_least(a, b); }                                         \
  inline H __hmax(H a, H b) { return damo::cuda::half_greatest(a, b); }                                      \
  inline H __hmin_nan(H a, H b) { return __hisnan(a) || __hisnan(b) ? __ushort_as_##N(0x7fff) : __hmin(a, b); } \
  inline H __hmax_nan(H a, H b) { return __hisnan(a) || __hisnan(b) ? __ushort_as_##N(0x7fff) : __hmax(a, b); } \
  __DAMO_FUNCTIONS(__DAMO_FUNCTION, H)
__DAMO_HALF(__half, half)
__DAMO_HALF(__nv_bfloat16, bfloat16)
#undef __DAMO_COMPARISON
#undef __DAMO_TO_INTEGER

// ---- pairs: each function is the scalar one on both parts ----------------------------------------------------------
#define __DAMO_BOTH(V, name, scalar) inline V name(V a, V b) { return V{scalar(a.x, b.x), scalar(a.y, b.y)}; }
#define __DAMO_EACH(V, name, scalar) inline V name(V a) { return V{scalar(a.x), scalar(a.y)}; }
#define __DAMO_FUNCTION2(V, name, call) __DAMO_EACH(V, h2##name, h##name)
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
  __DAMO_FUNCTIONS(__DAMO_FUNCTION2, V)                                                                      \
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
#undef __DAMO_THREE
#undef __DAMO_COMPARISON
#undef __DAMO_OPERATOR
#pragma clang force_cuda_host_device end
