// Functions of the CUDA Math API that neither the prelude nor the C library has: Boost.Math's, in double.
// Out of range: what CUDA gives (an infinity or a NaN), never an exception.
#pragma once

namespace damo::cpu_backend {

/// erf(y) = x; x in [-1, 1].
double erfinv(double x);
/// erfc(y) = x; x in [0, 2].
double erfcinv(double x);
/// Modified Bessel functions of the first kind, of order 0 and 1.
double cyl_bessel_i0(double x);
double cyl_bessel_i1(double x);

}  // namespace damo::cpu_backend
