// <cuComplex.h>: complex numbers as float2 and double2. Division and absolute value scale, so that squares stay in range.
#pragma once
#include "cuda_math.h"
#pragma clang force_cuda_host_device begin

using cuFloatComplex = float2;
using cuComplex = float2;
using cuDoubleComplex = double2;

#define __DAMO_COMPLEX(V, T, Name, f)                                                                     \
  inline V make_cu##Name##Complex(T real, T imaginary) { return V{real, imaginary}; }                     \
  inline T cuCreal##f(V x) { return x.x; }                                                                \
  inline T cuCimag##f(V x) { return x.y; }                                                                \
  inline V cuConj##f(V x) { return V{x.x, -x.y}; }                                                        \
  inline V cuCadd##f(V x, V y) { return V{x.x + y.x, x.y + y.y}; }                                        \
  inline V cuCsub##f(V x, V y) { return V{x.x - y.x, x.y - y.y}; }                                        \
  inline V cuCmul##f(V x, V y) { return V{x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x}; }                \
  inline V cuCdiv##f(V x, V y) {                                                                          \
    const T scale = T(1) / (fabs##f(y.x) + fabs##f(y.y));                                                 \
    const V a{x.x * scale, x.y * scale}, b{y.x * scale, y.y * scale};                                     \
    const T square = b.x * b.x + b.y * b.y;                                                               \
    return V{(a.x * b.x + a.y * b.y) / square, (a.y * b.x - a.x * b.y) / square};                         \
  }                                                                                                       \
  inline T cuCabs##f(V x) { return hypot##f(x.x, x.y); }                                                  \
  inline V cuCfma##f(V x, V y, V z) { return cuCadd##f(cuCmul##f(x, y), z); }
__DAMO_COMPLEX(float2, float, Float, f)
__DAMO_COMPLEX(double2, double, Double, )
inline cuComplex make_cuComplex(float real, float imaginary) { return cuComplex{real, imaginary}; }
inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return cuDoubleComplex{x.x, x.y}; }
inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x) { return cuFloatComplex{float(x.x), float(x.y)}; }
#pragma clang force_cuda_host_device end
