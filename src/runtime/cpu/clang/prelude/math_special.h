// Error function and gamma function, float and double. See math_support.h for the rules.
#pragma once
#include "math_double.h"
#include "math_float.h"
#include "math_float_wide.h"

namespace damo {

// |x| < 1: x + x P(x^2). Above: 1 - 2^-R(|x|).
DAMO_MATH float erf(float x) {
  DAMO_EXACT
  const float a = math::at_most(math::magnitude(x), 3.95f);
  const float u = a * a;
  const float near = math::madd(
      a, math::horner(u, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f, 0x1.54058p-8f, -0x1.a3f6eep-11f, 0x1.4969eap-14f), a);
  const float y = math::horner(a, 0x1.00b8a2p-11f, 0x1.a04554p+0f, 0x1.d75cbcp-1f, 0x1.30acfp-3f, -0x1.02274p-5f, 0x1.16cefep-8f, -0x1.1a1f8p-12f);
  const float sum = math::kRounder - y;
  const float r = (math::kRounder - sum) - y;
  const float p = math::horner(r, 0x1p+0f, 0x1.62e42cp-1f, 0x1.ebfa1p-3f, 0x1.c6b452p-5f, 0x1.3ccdap-7f, 0x1.5c9f0cp-10f);
  const float far = 1.0f - math::as_float(math::bits(p) + (math::bits(sum) << 23));
  return math::with_sign(a >= 1.0f ? far : near, x);
}

// e^(-x^2) times a polynomial in (x - 3) / (x + 3) for x >= 0; 2 - erfc(-x) below.
DAMO_MATH float erfc(float x) {
  DAMO_EXACT
  const float a = math::at_most(math::magnitude(x), 10.2f);
  const double d = a;
  const double t = (d - 3.0) / (d + 3.0);
  const double scaled = math::horner(t, 0x1.6e9827d508f06p-3, -0x1.4e102bde0d4bfp-2, 0x1.f6ff1fb27147p-3, -0x1.336fe7298205bp-3,
                                     0x1.258b1aeee9521p-4, -0x1.8facd32898a51p-6, 0x1.17c3db02e25e3p-8, 0x1.773fec6d9ff43p-11,
                                     -0x1.37b9b7602688dp-11, 0x1.e484514013c61p-16, 0x1.d50d44bbf2d1ep-15);
  const double y = scaled * math::wide_exp(-d * d);
  return float(x < 0.0f ? 2.0 - y : y);
}

}  // namespace damo
