// <cmath>, <cstdlib>, <cstring>, <cstdio>: CUDA's own functions under their names in std.
#pragma once

namespace std {

using ::abs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow;
using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p;
using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh;
using ::erf; using ::erfc; using ::tgamma; using ::lgamma;
using ::floor; using ::ceil; using ::trunc; using ::round; using ::rint; using ::nearbyint;
using ::lrint; using ::llrint; using ::lround; using ::llround;
using ::fmod; using ::remainder; using ::fma; using ::fmin; using ::fmax; using ::fdim; using ::copysign;
using ::nextafter; using ::ldexp; using ::scalbn; using ::frexp; using ::modf;
using ::isnan; using ::isinf; using ::isfinite; using ::signbit;
using ::sqrtf; using ::fabsf; using ::expf; using ::logf; using ::powf; using ::sinf; using ::cosf; using ::tanhf;
using ::fmaf; using ::fminf; using ::fmaxf; using ::floorf; using ::ceilf; using ::roundf;
using ::printf; using ::memcpy; using ::memset;
DAMO_STD float lerp(float a, float b, float t) { return a + t * (b - a); }
DAMO_STD double lerp(double a, double b, double t) { return a + t * (b - a); }

}  // namespace std

#ifdef __DAMO_CPU__
namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
#endif
