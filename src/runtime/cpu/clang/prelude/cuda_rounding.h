// Arithmetic and conversions rounded towards zero (_rz), up (_ru) and down (_rd): exact, by the host's rounding mode, so
// each is a call. Read when a source names one of them.
#pragma once
#include "cuda_math.h"
#pragma clang force_cuda_host_device begin

namespace damo::cuda {
// As in src/runtime/cpu/directed_rounding.hpp.
enum Operation { kAdd, kSubtract, kMultiply, kDivide, kSquareRoot, kFusedMultiplyAdd };
enum Rounding { kTowardsZero, kUp, kDown };
}  // namespace damo::cuda

extern "C" {
#define __DAMO_HOST __device__ __attribute__((const, nothrow, host))
__DAMO_HOST float __damo_rounded_float(int operation, int rounding, float a, float b, float c);
__DAMO_HOST double __damo_rounded_double(int operation, int rounding, double a, double b, double c);
__DAMO_HOST float __damo_narrow(int rounding, double x);
__DAMO_HOST float __damo_signed_to_float(int rounding, long long x);
__DAMO_HOST float __damo_unsigned_to_float(int rounding, unsigned long long x);
__DAMO_HOST double __damo_signed_to_double(int rounding, long long x);
__DAMO_HOST double __damo_unsigned_to_double(int rounding, unsigned long long x);
#undef __DAMO_HOST
}

#define __DAMO_ROUNDED(T, call, suffix, mode, add, sub, mul, div, rcp, root, fma)                                     \
  inline T add##suffix(T a, T b) { return call(damo::cuda::kAdd, damo::cuda::mode, a, b, 0); }                        \
  inline T sub##suffix(T a, T b) { return call(damo::cuda::kSubtract, damo::cuda::mode, a, b, 0); }                   \
  inline T mul##suffix(T a, T b) { return call(damo::cuda::kMultiply, damo::cuda::mode, a, b, 0); }                   \
  inline T div##suffix(T a, T b) { return call(damo::cuda::kDivide, damo::cuda::mode, a, b, 0); }                     \
  inline T rcp##suffix(T a) { return call(damo::cuda::kDivide, damo::cuda::mode, 1, a, 0); }                          \
  inline T root##suffix(T a) { return call(damo::cuda::kSquareRoot, damo::cuda::mode, a, 0, 0); }                     \
  inline T fma##suffix(T a, T b, T c) { return call(damo::cuda::kFusedMultiplyAdd, damo::cuda::mode, a, b, c); }
#define __DAMO_CONVERTED(suffix, mode)                                                                                \
  __DAMO_ROUNDED(float, __damo_rounded_float, suffix, mode, __fadd, __fsub, __fmul, __fdiv, __frcp, __fsqrt, __fmaf)  \
  __DAMO_ROUNDED(double, __damo_rounded_double, suffix, mode, __dadd, __dsub, __dmul, __ddiv, __drcp, __dsqrt, __fma) \
  inline float __double2float##suffix(double x) { return __damo_narrow(damo::cuda::mode, x); }                        \
  inline float __int2float##suffix(int x) { return __damo_signed_to_float(damo::cuda::mode, x); }                     \
  inline float __uint2float##suffix(unsigned x) { return __damo_unsigned_to_float(damo::cuda::mode, x); }             \
  inline float __ll2float##suffix(long long x) { return __damo_signed_to_float(damo::cuda::mode, x); }                \
  inline float __ull2float##suffix(unsigned long long x) { return __damo_unsigned_to_float(damo::cuda::mode, x); }    \
  inline double __ll2double##suffix(long long x) { return __damo_signed_to_double(damo::cuda::mode, x); }             \
  inline double __ull2double##suffix(unsigned long long x) { return __damo_unsigned_to_double(damo::cuda::mode, x); } \
  inline float __fmaf_ieee##suffix(float a, float b, float c) { return __fmaf##suffix(a, b, c); }
__DAMO_CONVERTED(_rz, kTowardsZero) __DAMO_CONVERTED(_ru, kUp) __DAMO_CONVERTED(_rd, kDown)
#undef __DAMO_ROUNDED
#pragma clang force_cuda_host_device end
