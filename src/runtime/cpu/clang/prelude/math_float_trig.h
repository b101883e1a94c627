// Sine, cosine, tangent and their inverses, float. See math_support.h for the rules.
#pragma once
#include "math_rare.h"

namespace damo {
namespace math {

// 2/pi for a float x of exponent 24 + i (i = 0: any smaller one), without the bits that multiply x to a multiple
// of 4: quarter turns that cannot be told apart. The high part has at most 29 bits, so its product with x is exact
// in double; the low part carries 53 more. That is enough for the float nearest to a multiple of pi/2.
inline constexpr double kTwoOverPiHigh[105] = {
    0x1.45f306cp-1, 0x1.45f306dp-1, 0x1.17cc1b6p-3, 0x1.17cc1b7p-3, 0x1.7cc1b7p-7, 0x1.7cc1b7p-7, 0x1.7cc1b72p-7,
    0x1.7cc1b72p-7, 0x1.f306dc8p-9, 0x1.f306dc9p-9, 0x1.e60db93p-10, 0x1.cc1b727p-11, 0x1.9836e4ep-12,
    0x1.306dc9cp-13, 0x1.836e4e4p-16, 0x1.836e4e4p-16, 0x1.836e4e4p-16, 0x1.06dc9c8p-17, 0x1.b72722p-23,
    0x1.b72722p-23, 0x1.b72722p-23, 0x1.b72722p-23, 0x1.b72722p-23, 0x1.b72722p-23, 0x1.6e4e441p-24, 0x1.b939104p-26,
    0x1.b939105p-26, 0x1.727220ap-27, 0x1.c9c882ap-29, 0x1.c9c882ap-29, 0x1.9391054p-30, 0x1.27220a9p-31,
    0x1.3910548p-34, 0x1.391054ap-34, 0x1.391054ap-34, 0x1.c882a5p-37, 0x1.c882a52p-37, 0x1.c882a53p-37,
    0x1.91054a7p-38, 0x1.220a94fp-39, 0x1.1054a7cp-42, 0x1.1054a7ep-42, 0x1.1054a7fp-42, 0x1.054a7fp-46,
    0x1.054a7fp-46, 0x1.054a7fp-46, 0x1.054a7fp-46, 0x1.529fc2p-52, 0x1.529fc2p-52, 0x1.529fc2p-52, 0x1.529fc24p-52,
    0x1.529fc26p-52, 0x1.529fc27p-52, 0x1.4a7f09cp-54, 0x1.4a7f09dp-54, 0x1.29fc274p-56, 0x1.29fc275p-56,
    0x1.4fe13a8p-59, 0x1.4fe13aap-59, 0x1.4fe13abp-59, 0x1.3f84eaep-61, 0x1.3f84eafp-61, 0x1.fc2757cp-64,
    0x1.fc2757cp-64, 0x1.fc2757dp-64, 0x1.f84eafap-65, 0x1.f09d5f4p-66, 0x1.e13abe8p-67, 0x1.c2757d1p-68,
    0x1.84eafa3p-69, 0x1.09d5f47p-70, 0x1.3abe8fp-75, 0x1.3abe8f8p-75, 0x1.3abe8f8p-75, 0x1.3abe8fap-75,
    0x1.3abe8fap-75, 0x1.d5f47d4p-78, 0x1.d5f47d4p-78, 0x1.d5f47d4p-78, 0x1.abe8fa9p-79, 0x1.57d1f53p-80,
    0x1.5f47d4cp-82, 0x1.5f47d4dp-82, 0x1.7d1f534p-84, 0x1.7d1f534p-84, 0x1.f47d4d2p-86, 0x1.f47d4d3p-86,
    0x1.e8fa9a6p-87, 0x1.d1f534dp-88, 0x1.a3ea69bp-89, 0x1.47d4d37p-90, 0x1.1f534dcp-92, 0x1.1f534ddp-92,
    0x1.f534dd8p-96, 0x1.f534ddcp-96, 0x1.f534ddcp-96, 0x1.f534ddcp-96, 0x1.ea69bb8p-97, 0x1.d4d377p-98,
    0x1.a9a6eep-99, 0x1.534ddcp-100, 0x1.4d37702p-102, 0x1.4d37703p-102, 0x1.34ddc0cp-104, 0x1.34ddc0dp-104,
};
inline constexpr double kTwoOverPiLow[105] = {
    0x1.c9c882a53f84fp-29, 0x1.9391054a7f09dp-30, 0x1.27220a94fe13bp-31, 0x1.391054a7f09d6p-34, 0x1.391054a7f09d6p-34,
    0x1.391054a7f09d6p-34, 0x1.c882a53f84ebp-37, 0x1.c882a53f84ebp-37, 0x1.c882a53f84ebp-37, 0x1.91054a7f09d5fp-38,
    0x1.220a94fe13abfp-39, 0x1.1054a7f09d5f4p-42, 0x1.1054a7f09d5f4p-42, 0x1.1054a7f09d5f4p-42, 0x1.054a7f09d5f48p-46,
    0x1.054a7f09d5f48p-46, 0x1.054a7f09d5f48p-46, 0x1.054a7f09d5f48p-46, 0x1.529fc2757d1f5p-52, 0x1.529fc2757d1f5p-52,
    0x1.529fc2757d1f5p-52, 0x1.529fc2757d1f5p-52, 0x1.529fc2757d1f5p-52, 0x1.529fc2757d1f5p-52, 0x1.4a7f09d5f47d5p-54,
    0x1.4a7f09d5f47d5p-54, 0x1.29fc2757d1f53p-56, 0x1.29fc2757d1f53p-56, 0x1.4fe13abe8fa9ap-59, 0x1.4fe13abe8fa9ap-59,
    0x1.4fe13abe8fa9ap-59, 0x1.3f84eafa3ea6ap-61, 0x1.3f84eafa3ea6ap-61, 0x1.fc2757d1f534ep-64, 0x1.fc2757d1f534ep-64,
    0x1.fc2757d1f534ep-64, 0x1.f84eafa3ea69cp-65, 0x1.f09d5f47d4d37p-66, 0x1.e13abe8fa9a6fp-67, 0x1.c2757d1f534dep-68,
    0x1.84eafa3ea69bcp-69, 0x1.09d5f47d4d377p-70, 0x1.3abe8fa9a6eep-75, 0x1.3abe8fa9a6eep-75, 0x1.3abe8fa9a6eep-75,
    0x1.3abe8fa9a6eep-75, 0x1.3abe8fa9a6eep-75, 0x1.d5f47d4d37703p-78, 0x1.d5f47d4d37703p-78, 0x1.d5f47d4d37703p-78,
    0x1.abe8fa9a6ee07p-79, 0x1.57d1f534ddc0ep-80, 0x1.5f47d4d377037p-82, 0x1.5f47d4d377037p-82, 0x1.7d1f534ddc0dbp-84,
    0x1.7d1f534ddc0dbp-84, 0x1.f47d4d377036ep-86, 0x1.f47d4d377036ep-86, 0x1.e8fa9a6ee06dbp-87, 0x1.d1f534ddc0db6p-88,
    0x1.a3ea69bb81b6cp-89, 0x1.47d4d377036d9p-90, 0x1.1f534ddc0db63p-92, 0x1.1f534ddc0db63p-92, 0x1.f534ddc0db629p-96,
    0x1.f534ddc0db629p-96, 0x1.f534ddc0db629p-96, 0x1.f534ddc0db629p-96, 0x1.ea69bb81b6c53p-97, 0x1.d4d377036d8a5p-98,
    0x1.a9a6ee06db14bp-99, 0x1.534ddc0db6296p-100, 0x1.4d377036d8a56p-102, 0x1.4d377036d8a56p-102,
    0x1.34ddc0db6295ap-104, 0x1.34ddc0db6295ap-104, 0x1.a6ee06db14acdp-107, 0x1.a6ee06db14acdp-107,
    0x1.a6ee06db14acdp-107, 0x1.4ddc0db629599p-108, 0x1.377036d8a5665p-110, 0x1.377036d8a5665p-110,
    0x1.bb81b6c52b328p-113, 0x1.bb81b6c52b328p-113, 0x1.bb81b6c52b328p-113, 0x1.77036d8a5664fp-114,
    0x1.dc0db6295993cp-116, 0x1.dc0db6295993cp-116, 0x1.b81b6c52b3279p-117, 0x1.7036d8a5664f1p-118,
    0x1.c0db6295993c4p-120, 0x1.c0db6295993c4p-120, 0x1.81b6c52b32788p-121, 0x1.036d8a5664f11p-122,
    0x1.b6c52b3278872p-129, 0x1.b6c52b3278872p-129, 0x1.b6c52b3278872p-129, 0x1.b6c52b3278872p-129,
    0x1.b6c52b3278872p-129, 0x1.b6c52b3278872p-129, 0x1.b6c52b3278872p-129, 0x1.6d8a5664f10e4p-130,
    0x1.b6295993c439p-132, 0x1.b6295993c439p-132, 0x1.6c52b32788721p-133,
};

// x = (4 k + quarter) pi/2 + r, |r| <= pi/4; right for every finite float. inf and NaN give a NaN r.
struct Turn {
  double r;
  u32 quarter;  // only its low two bits mean anything
};
DAMO_MATH Turn reduce_turn(float x) {
  DAMO_EXACT
  const i32 exponent = i32((bits(x) >> 23) & 255u) - (127 + 24);
  const i32 i = exponent < 0 ? 0 : exponent;
  const double wide = x;
  const double v = wide * kTwoOverPiHigh[i];
  const double sum = madd(wide, kTwoOverPiLow[i], v) + kRounderDouble;
  const double f = madd(wide, kTwoOverPiLow[i], v - (sum - kRounderDouble));
  return {f * 0x1.921fb54442d18p+0, u32(bits(sum))};
}

DAMO_MATH double sin_reduced(double r) {
  DAMO_EXACT
  const double r2 = r * r;
  return madd(r2 * r, horner(r2, -0x1.5555452p-3, 0x1.110736p-7, -0x1.994224p-13), r);
}
DAMO_MATH double cos_reduced(double r) {
  DAMO_EXACT
  const double r2 = r * r;
  return horner(r2, 1.0, -0.5, 0x1.55554aap-5, -0x1.6c0c866p-10, 0x1.9a00c9p-16);
}
DAMO_MATH float flip_if(float x, u32 odd) { return as_float(bits(x) ^ (odd << 31)); }

DAMO_MATH float sin_of_any(float x) {
  const Turn t = reduce_turn(x);
  const float y = float((t.quarter & 1u) ? cos_reduced(t.r) : sin_reduced(t.r));
  return x == 0.0f ? x : flip_if(y, (t.quarter >> 1) & 1u);
}
DAMO_MATH float cos_of_any(float x) {
  const Turn t = reduce_turn(x);
  const float y = float((t.quarter & 1u) ? sin_reduced(t.r) : cos_reduced(t.r));
  return flip_if(y, ((t.quarter + 1u) >> 1) & 1u);
}
DAMO_MATH float tan_of_any(float x) {
  const Turn t = reduce_turn(x);
  const double s = sin_reduced(t.r), c = cos_reduced(t.r);
  const bool odd = t.quarter & 1u;
  const float y = float((odd ? c : s) / (odd ? s : c));
  return x == 0.0f ? x : flip_if(y, t.quarter & 1u);
}

inline constexpr float kHalfPi = 0x1.921fb6p+0f, kHalfPiLow = -0x1.777a5cp-25f, kHalfPiLowest = -0x1.ee59dap-50f;

// Sine and cosine of an x that is no further than kFarTurn from 0, each as a sum whose second part is small: in float,
// at half the cost of a double. x = turns pi/2 + r + rest.
inline constexpr float kFarTurn = 131072.0f;
struct NearTurn {
  float sin, sin_rest, cos, cos_rest;
  u32 quarter;  // only its low two bits mean anything
};
DAMO_MATH bool is_far_turn(float x) { return !(magnitude(x) <= kFarTurn); }
DAMO_MATH NearTurn near_turn(float x) {
  DAMO_EXACT
  const float sum = madd(x, 0x1.45f306p-1f, kRounder), turns = sum - kRounder;
  // A multiple of pi/2's last digit, or of x's, and below 1: no digit is lost.
  const float whole = madd(-turns, kHalfPi, x);
  const float low = turns * kHalfPiLow, low_rest = madd(turns, kHalfPiLow, -low);
  const Pair<float> near = two_sum(whole, -low);
  const float r = near.hi, rest = madd(-turns, kHalfPiLowest, near.lo - low_rest), u = r * r;
  const float sin_rest = madd(r * u, horner(u, -0x1.555544p-3f, 0x1.1106bcp-7f, -0x1.99165p-13f), rest);
  const float cos = madd(-0.5f * r, r, 1.0f), lost = madd(-0.5f * r, r, 1.0f - cos);
  const float cos_rest = madd(u * u, horner(u, 0x1.55554ap-5f, -0x1.6c0c14p-10f, 0x1.99de6ep-16f), madd(-r, rest, lost));
  return {r, sin_rest, cos, cos_rest, bits(sum)};
}
DAMO_MATH float sin_near(float x) {
  DAMO_EXACT
  const NearTurn t = near_turn(x);
  const bool odd = t.quarter & 1u;
  const float y = (odd ? t.cos : t.sin) + (odd ? t.cos_rest : t.sin_rest);
  return x == 0.0f ? x : flip_if(y, (t.quarter >> 1) & 1u);
}
DAMO_MATH float cos_near(float x) {
  DAMO_EXACT
  const NearTurn t = near_turn(x);
  const bool odd = t.quarter & 1u;
  const float y = (odd ? t.sin : t.cos) + (odd ? t.sin_rest : t.cos_rest);
  return flip_if(y, ((t.quarter + 1u) >> 1) & 1u);
}
DAMO_MATH float tan_near(float x) {
  DAMO_EXACT
  const NearTurn t = near_turn(x);
  const bool odd = t.quarter & 1u;
  const Pair<float> s = fast_two_sum(t.sin, t.sin_rest), c = fast_two_sum(t.cos, t.cos_rest);
  const float top = odd ? c.hi : s.hi, top_rest = odd ? c.lo : s.lo, bottom = odd ? s.hi : c.hi, bottom_rest = odd ? s.lo : c.lo;
  const float inverse = 1.0f / bottom, quotient = top * inverse;
  const float left = madd(-quotient, bottom, top) + madd(-quotient, bottom_rest, top_rest);
  const float y = madd(left, inverse, quotient);
  return x == 0.0f ? x : flip_if(y, t.quarter & 1u);
}

}  // namespace math

DAMO_MATH float sin(float x) { return math::unless_rare<float, math::is_far_turn, math::sin_of_any, math::sin_near>(x); }
DAMO_MATH float cos(float x) { return math::unless_rare<float, math::is_far_turn, math::cos_of_any, math::cos_near>(x); }
DAMO_MATH float tan(float x) { return math::unless_rare<float, math::is_far_turn, math::tan_of_any, math::tan_near>(x); }

namespace math {

// asin s - s for s in [0, 1/2], z = s^2.
DAMO_MATH float asin_tail(float s, float z) {
  DAMO_EXACT
  return s * z * horner(z, 0x1.5555c8p-3f, 0x1.3301ccp-4f, 0x1.7480ep-5f, 0x1.8c0cacp-6f, 0x1.598634p-5f);
}

// atan q for q in [0, 1].
DAMO_MATH float atan_reduced(float q) {
  DAMO_EXACT
  const float u = q * q, u2 = u * u;
  const float a = madd(u, 0x1.9978f4p-3f, -0x1.5554dcp-2f), b = madd(u, 0x1.b4e11cp-4f, -0x1.230adap-3f);
  const float c = madd(u, 0x1.61fdd8p-5f, -0x1.3556a6p-4f), d = madd(u, 0x1.7ed2dap-9f, -0x1.0c2c4p-6f);
  return madd(q * u, madd(u2 * u2, madd(u2, d, c), madd(u2, b, a)), q);
}

}  // namespace math

// Above 1/2: asin a = pi/2 - 2 asin sqrt((1 - a) / 2).
DAMO_MATH float asin(float x) {
  DAMO_EXACT
  const float a = math::magnitude(x);
  const bool high = a > 0.5f;
  const float z = high ? 0.5f - 0.5f * a : a * a;
  const float s = high ? __builtin_sqrtf(z) : a;
  const float tail = math::asin_tail(s, z);
  // The large parts first, what their difference rounds off joins the small ones.
  const float head = math::kHalfPi - (s + s), lost = (math::kHalfPi - head) - (s + s);
  const float far = head - (tail + tail - (math::kHalfPiLow + lost));
  return math::with_sign(high ? far : s + tail, x);
}

DAMO_MATH float acos(float x) {
  DAMO_EXACT
  const float a = math::magnitude(x);
  const bool high = a > 0.5f, negative = x < 0.0f;
  const float z = high ? 0.5f - 0.5f * a : a * a;
  const float s = high ? __builtin_sqrtf(z) : a;
  const float p = s + math::asin_tail(s, z);
  const float near = math::kHalfPi - ((negative ? -p : p) - math::kHalfPiLow);
  const float far = negative ? 2.0f * math::kHalfPi - (p + p - 2.0f * math::kHalfPiLow) : p + p;
  return high ? far : near;
}

DAMO_MATH float atan(float x) {
  DAMO_EXACT
  const float a = math::magnitude(x);
  const bool high = a > 1.0f;
  const float r = math::atan_reduced((high ? 1.0f : a) / (high ? a : 1.0f));
  return math::with_sign(high ? math::kHalfPi - (r - math::kHalfPiLow) : r, x);
}

DAMO_MATH float atan2(float y, float x) {
  DAMO_EXACT
  const float ax = math::magnitude(x), ay = math::magnitude(y);
  const bool steep = ay > ax, left = math::bits(x) >> 31;
  const float top = steep ? ax : ay, bottom = steep ? ay : ax;
  float q = top / bottom;
  q = top == 0.0f ? 0.0f : q;
  q = top == __builtin_inff() ? 1.0f : q;
  const float r = math::atan_reduced(q);
  const float turns = steep ? 1.0f : (left ? 2.0f : 0.0f);  // quarter turns
  const float inner = math::madd(turns, math::kHalfPiLow, steep != left ? -r : r);
  const float angle = math::madd(turns, math::kHalfPi, inner);
  return x != x || y != y ? x + y : math::with_sign(angle, y);
}

}  // namespace damo
