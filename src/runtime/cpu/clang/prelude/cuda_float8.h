// __nv_fp8_e4m3, __nv_fp8_e5m2, their pairs and fours, and the conversions of cuda_fp8.h. As CUDA's, and unlike casts of generated kernels, their constructors saturate: what is
// beyond the greatest number, infinity too, becomes that. A NaN stays a NaN. Read where a source includes cuda_fp8.h.
#pragma once
#include "cuda_half.h"
#include "cuda_vector.h"
#include "float8.h"
#pragma clang force_cuda_host_device begin

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
typedef unsigned int __nv_fp8x4_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  const bool is_e4m3 = kind == __NV_E4M3;
  const unsigned word = damo::math::bits(x), sign = (word >> 24) & 0x80u, magnitude = word & 0x7fffffffu, last = is_e4m3 ? 0x7eu : 0x7bu;
  const unsigned code = is_e4m3 ? damo::math::float8_code<4, 3>(magnitude) : damo::math::float8_code<5, 2>(magnitude);
  const unsigned number = code <= last ? code : saturate == __NV_SATFINITE ? last : last + 1;
  return __nv_fp8_storage_t(sign | (magnitude > 0x7f800000u ? (is_e4m3 ? 0x7fu : 0x7eu) : number));
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(damo::math::to_be_rounded(x), saturate, kind);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) { return __nv_cvt_float_to_fp8(float(__half(x)), saturate, kind); }
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_cvt_float_to_fp8(float(__nv_bfloat16(x)), saturate, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_fp8x2_storage_t(__nv_cvt_float_to_fp8(x.x, saturate, kind) | __nv_cvt_float_to_fp8(x.y, saturate, kind) << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_double2_to_fp8x2(double2 x, __nv_saturation_t saturate, __nv_fp8_interpretation_t kind) {
  return __nv_fp8x2_storage_t(__nv_cvt_double_to_fp8(x.x, saturate, kind) | __nv_cvt_double_to_fp8(x.y, saturate, kind) << 8);
}

namespace damo::cuda {
inline float of_float8(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) { return kind == __NV_E4M3 ? float(__builtin_bit_cast(float8_e4m3, x)) : float(__builtin_bit_cast(float8_e5m2, x)); }
}  // namespace damo::cuda

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t kind) { return __half(damo::cuda::of_float8(x, kind)); }

#define DAMO_FLOAT8(NAME, KIND)                                                                                                                         \
  struct NAME {                                                                                                                                         \
    __nv_fp8_storage_t __x;                                                                                                                             \
    NAME() = default;                                                                                                                                   \
    explicit NAME(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, KIND)) {}                                                                     \
    explicit NAME(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, KIND)) {}                                                                   \
    explicit NAME(__half x) : NAME(float(x)) {}                                                                                                         \
    explicit NAME(__nv_bfloat16 x) : NAME(float(x)) {}                                                                                                  \
    template <class T, typename damo::If<__is_integral(T), int>::type = 0>                                                                              \
    explicit NAME(T x) : NAME(float(x)) {} /* an integer that a float rounds is beyond the greatest number */                                           \
    explicit operator float() const { return damo::cuda::of_float8(__x, KIND); }                                                                        \
    explicit operator double() const { return float(*this); }                                                                                           \
    explicit operator __half() const { return __half(float(*this)); }                                                                                   \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(float(*this)); }                                                                     \
    explicit operator bool() const { return (__x & 0x7fu) != 0; }                                                                                       \
    template <class T, typename damo::If<__is_integral(T) && !__is_same(T, bool), int>::type = 0>                                                       \
    explicit operator T() const {                                                                                                                       \
      return damo::convert<T>(float(*this));                                                                                                            \
    }                                                                                                                                                   \
  };                                                                                                                                                    \
  static_assert(sizeof(NAME) == 1)
DAMO_FLOAT8(__nv_fp8_e4m3, __NV_E4M3);
DAMO_FLOAT8(__nv_fp8_e5m2, __NV_E5M2);
#undef DAMO_FLOAT8

#define DAMO_FLOAT8_PACK(TWO, FOUR, KIND)                                                                                                               \
  struct __attribute__((aligned(2))) TWO {                                                                                                              \
    __nv_fp8x2_storage_t __x;                                                                                                                           \
    TWO() = default;                                                                                                                                    \
    explicit TWO(float2 x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                                                                  \
    explicit TWO(double2 x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, KIND)) {}                                                                \
    explicit TWO(__half2 x) : TWO(make_float2(float(x.x), float(x.y))) {}                                                                               \
    explicit TWO(__nv_bfloat162 x) : TWO(make_float2(float(x.x), float(x.y))) {}                                                                        \
    explicit operator float2() const { return make_float2(damo::cuda::of_float8(__x & 0xffu, KIND), damo::cuda::of_float8(__x >> 8, KIND)); }            \
    explicit operator __half2() const {                                                                                                                 \
      const float2 x = float2(*this);                                                                                                                   \
      return make_half2(__half(x.x), __half(x.y));                                                                                                      \
    }                                                                                                                                                   \
  };                                                                                                                                                    \
  struct __attribute__((aligned(4))) FOUR {                                                                                                             \
    __nv_fp8x4_storage_t __x;                                                                                                                           \
    FOUR() = default;                                                                                                                                   \
    explicit FOUR(float4 x) : FOUR(TWO(make_float2(x.x, x.y)), TWO(make_float2(x.z, x.w))) {}                                                           \
    explicit FOUR(double4 x) : FOUR(TWO(make_double2(x.x, x.y)), TWO(make_double2(x.z, x.w))) {}                                                        \
    explicit FOUR(__half2 low, __half2 high) : FOUR(TWO(low), TWO(high)) {}                                                                             \
    explicit FOUR(__nv_bfloat162 low, __nv_bfloat162 high) : FOUR(TWO(low), TWO(high)) {}                                                               \
    explicit operator float4() const {                                                                                                                  \
      const auto at = [this](int i) { return damo::cuda::of_float8((__x >> (8 * i)) & 0xffu, KIND); };                                                  \
      return make_float4(at(0), at(1), at(2), at(3));                                                                                                   \
    }                                                                                                                                                   \
                                                                                                                                                        \
   private:                                                                                                                                             \
    FOUR(TWO low, TWO high) : __x(low.__x | unsigned(high.__x) << 16) {}                                                                                \
  }
DAMO_FLOAT8_PACK(__nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3);
DAMO_FLOAT8_PACK(__nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2);
#undef DAMO_FLOAT8_PACK

#pragma clang force_cuda_host_device end
