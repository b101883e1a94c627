// Sine, cosine, tangent and their inverses, double. See math_support.h for the rules.
#pragma once
#include "math_rare.h"

namespace damo {
namespace math {

// 2/pi for a double below 2^78 (class 0) or from 2^(54 + 24 k) to 2^(78 + 24 k) (class k): times 2^(24 k), without
// the bits that multiply such a double to a multiple of 4. Four parts of 53 bits each.
inline constexpr double kTwoOverPi[4][41] = {
    {0x1.45f306dc9c883p-1, 0x1.b9391054a7f0ap-2, 0x1.529fc2757d1f5p-4, 0x1.3abe8fa9a6eep-3, 0x1.ea69bb81b6c53p-1,
     0x1.81b6c52b32788p-1, 0x1.2b3278872084p-1, 0x1.0e4107f9458ebp-2, 0x1.fca2c757bd779p-1, 0x1.57bd778ac36e5p-1,
     0x1.8ac36e48dc748p-1, 0x1.2371d2126e97p-3, 0x1.09374b801924cp-2, 0x1.c00c925dd413ap-1, 0x1.77504e8c90e7fp-3,
     0x1.a32439fc3bd64p-1, 0x1.fc3bd63962535p-1, 0x1.cb129a73ee882p-4, 0x1.4e7dd1046bea6p-1, 0x1.046bea5d76891p-1,
     0x1.75da24274ce38p-3, 0x1.09d338e04d68cp-1, 0x1.c09ad17df904ep-2, 0x1.7df904e64758ep-2, 0x1.cc8eb1cc1a99dp-3,
     0x1.cc1a99cfa4e42p-3, 0x1.cfa4e422fc5dfp-3, 0x1.08bf177bf2507p-1, 0x1.7bf250763ff13p-1, 0x1.d8ffc4bffef03p-3,
     0x1.2fffbc0b301fep-1, 0x1.6603fbcbc462dp-6, 0x1.de5e2316b414ep-1, 0x1.16b414da3eda7p-1, 0x1.b47db4d9fb3cap-2,
     0x1.b3f6793e584dcp-3, 0x1.3e584dba7a32p-3, 0x1.6e9e8c7ecd3ccp-1, 0x1.fb34f2ff516bbp-3, 0x1.7fa8b5d49eeb2p-2,
     0x1.d49eeb1faf97cp-2},
    {-0x1.6b01ec5417056p-55, -0x1.505c1596447e5p-57, 0x1.a6ee06db14acdp-59, 0x1.b6c52b3278872p-57,
     -0x1.3361de37df00dp-55, 0x1.c820ff28b1d5fp-55, -0x1.ae9c5421443aap-56, -0x1.0a21d4f246dc9p-59,
     -0x1.4f246dc8e2deep-55, -0x1.c8e2ded9169p-55, 0x1.26e9700324977p-55, 0x1.924bba8274648p-62,
     -0x1.15f62e6de301ep-56, 0x1.921cfe1deb1cbp-56, 0x1.deb1cb129a73fp-60, -0x1.a76b2c608bbeep-55,
     -0x1.822efb9415a29p-57, 0x1.afa975da24275p-59, -0x1.44bb7b16638fep-56, -0x1.8b31c7eca5d04p-55,
     0x1.35a2fbf209cc9p-59, -0x1.037d8cdc538dp-57, 0x1.91d639835339fp-56, 0x1.835339f49c846p-56,
     -0x1.6c6f740e8840ep-61, 0x1.7e2ef7e4a0ec8p-58, -0x1.b5f13801da001p-62, 0x1.8ffc4bffef02dp-55,
     -0x1.0fd33f8086877p-67, -0x1.9fc04343b9d29p-58, -0x1.a1dce94beb25cp-57, 0x1.a0a6d1f6d367fp-60,
     -0x1.704964c0986c2p-55, -0x1.8130d834f648bp-56, -0x1.a7b24585ce04dp-59, -0x1.61738132c3403p-57,
     -0x1.32c3402ba515bp-57, -0x1.5d28ad8453814p-60, -0x1.b08a7028341d1p-57, -0x1.41a0e84c2f8c6p-60,
     0x1.7b3d0739f78a5p-56},
    {-0x1.6447e493ad4cep-109, 0x1.b14acc9e21c82p-111, -0x1.8778df7c035d4p-113, 0x1.07f9458eaf7afp-114,
     -0x1.d38a84288753dp-109, -0x1.443a9e48db91cp-112, 0x1.b7246e3a424ddp-112, 0x1.d2126e9700325p-115,
     0x1.ba5c00c925dd4p-109, 0x1.924bba8274648p-110, 0x1.413a32439fc3cp-109, 0x1.cfe1deb1cb12ap-116,
     -0x1.0a71a76b2c609p-111, 0x1.29a73ee88235fp-112, -0x1.77dca0ad144bbp-116, -0x1.415a28976f62dp-109,
     0x1.a24274ce38136p-111, -0x1.8e3f652e8207p-114, 0x1.ad17df904e647p-110, -0x1.bec66e29c67cbp-112,
     -0x1.4e33e566305b2p-115, 0x1.a99cfa4e422fcp-111, 0x1.272117e2ef7e5p-110, -0x1.d1081b5f13802p-114,
     0x1.41d8ffc4bffefp-115, -0x1.da00087e99fcp-118, 0x1.e05980fef2f12p-116, -0x1.fc04343b9d298p-110,
     -0x1.d297d64b824b2p-122, -0x1.f592e092c9813p-112, -0x1.25930261b069fp-113, -0x1.86c1a7b24585dp-115,
     0x1.6136e9e8c7ecdp-109, -0x1.738132c3402bap-113, 0x1.3cbfd45aea4f7p-113, 0x1.16ba93dd63f5fp-111,
     -0x1.14e050683a131p-114, -0x1.a0e84c2f8c608p-116, 0x1.9e839cfbc5295p-111, -0x1.0eb5ada2b2809p-117,
     0x1.497535fdafd89p-111},
    {0x1.e21c820ff28b2p-163, 0x1.fe5163abdebbcp-168, 0x1.d5ef5de2b0db9p-167, -0x1.d4f246dc8e2dfp-171,
     0x1.b92371d2126e9p-163, -0x1.6f6c8b47fe6dbp-166, 0x1.700324977504fp-167, -0x1.a22bec5cdbc6p-169,
     0x1.3a32439fc3bd6p-165, 0x1.cfe1deb1cb12ap-164, -0x1.4e34ed658c117p-164, -0x1.63045df7282b4p-170,
     0x1.1046bea5d7689p-165, 0x1.4baed1213a672p-166, -0x1.ec598e3f652e8p-170, 0x1.c7026b45f7e41p-164,
     -0x1.741037d8cdc54p-165, 0x1.3991d63983534p-168, 0x1.639835339f49dp-164, 0x1.9cfa4e422fc5ep-167,
     0x1.08bf177bf2507p-169, 0x1.77bf250763ff1p-165, -0x1.7c4e007680022p-164, 0x1.2fffbc0b301fep-169,
     0x1.6603fbcbc462dp-174, -0x1.0d0ee74a5f593p-172, -0x1.d297d64b824b2p-170, 0x1.4da3eda6cfd9ep-165,
     -0x1.8130d834f648bp-176, -0x1.b069ec9161738p-169, 0x1.b74f463f669e6p-168, 0x1.fb34f2ff516bbp-171,
     0x1.e5fea2d7527bbp-164, -0x1.456c229c0a0dp-167, 0x1.63f5f2f8bd9e8p-167, 0x1.7c5ecf41ce7dep-166,
     0x1.0739f78a5292fp-168, -0x1.d6b5b45650128p-170, -0x1.a2b2809409dc1p-165, -0x1.0277039517bd5p-171,
     -0x1.ca8bdea7f33eep-170},
};

struct TurnDouble {
  double r, rest;
  u32 quarter;  // only its low two bits mean anything
};

// What is left of x by multiples of 4: exact.
DAMO_MATH double modulo_four(double x) {
  DAMO_EXACT
  return x - 4.0 * __builtin_rint(0.25 * x);
}

// x = (4 k + quarter) pi/2 + r + rest, |r| <= pi/4: right for every finite double, since 2/pi comes with more bits
// than any double can cancel. inf and NaN give a NaN r.
DAMO_MATH TurnDouble reduce_turn(double x) {
  DAMO_EXACT
  const i32 exponent = i32((bits(x) >> 52) & 2047u) - (1023 + 54);
  const i32 k = exponent < 0 ? 0 : (exponent * 43691) >> 20;  // exponent / 24
  const double y = x * as_double(u64(1023 - 24 * k) << 52);   // below 2^78
  const Pair<double> a = two_product(y, kTwoOverPi[0][k]);
  const Pair<double> b = two_product(y, kTwoOverPi[1][k]);
  const Pair<double> c = two_product(y, kTwoOverPi[2][k]);
  const double d = y * kTwoOverPi[3][k];
  // Only a.hi, a.lo and b.hi can exceed 4.
  const Pair<double> s = two_sum(modulo_four(a.hi), modulo_four(a.lo));
  const Pair<double> u = two_sum(s.hi, modulo_four(b.hi));
  const double sum = (u.hi + (s.lo + u.lo + b.lo + c.hi)) + kRounderDouble;
  // From the largest down, so that nothing is lost when the sum is close to 0.
  const Pair<double> f1 = two_sum(u.hi - (sum - kRounderDouble), b.lo);
  const Pair<double> f2 = two_sum(f1.hi, c.hi);
  const Pair<double> f3 = two_sum(f2.hi, s.lo);
  const Pair<double> f4 = two_sum(f3.hi, u.lo);
  const Pair<double> f = fast_two_sum(f4.hi, f1.lo + f2.lo + f3.lo + f4.lo + (c.lo + d));
  const Pair<double> r = two_product(f.hi, 0x1.921fb54442d18p+0);
  return {r.hi, r.lo + madd(f.hi, 0x1.1a62633145c07p-54, f.lo * 0x1.921fb54442d18p+0), u32(bits(sum))};
}

DAMO_MATH Pair<double> sin_reduced(double r, double rest) {
  DAMO_EXACT
  const double u = r * r;
  const double p = horner(u, -0x1.5555555555548p-3, 0x1.111111110f7bp-7, -0x1.a01a019bf9bafp-13, 0x1.71de356403e92p-19,
                     -0x1.ae5e5779119b5p-26, 0x1.5d8ee47b823a6p-33);
  return fast_two_sum(r, madd(r * u, p, madd(-0.5 * u, rest, rest)));
}
DAMO_MATH Pair<double> cos_reduced(double r, double rest) {
  DAMO_EXACT
  const double u = r * r, h = 0.5 * u, w = 1.0 - h;
  const double p = horner(u, 0x1.555555555554bp-5, -0x1.6c16c16c14f6cp-10, 0x1.a01a019c8099fp-16, -0x1.27e4f7e804f5bp-22,
                     0x1.1ee9d5cabba35p-29, -0x1.8fa396509e41ap-37);
  return fast_two_sum(w, ((1.0 - w) - h) + madd(u * u, p, -r * rest));
}
DAMO_MATH double flip_if(double x, u32 odd) { return as_double(bits(x) ^ (u64(odd) << 63)); }

// What the functions give of an x in quarter turns.
DAMO_MATH double sin_of(TurnDouble t, double x) {
  const double y = (t.quarter & 1u) ? cos_reduced(t.r, t.rest).hi : sin_reduced(t.r, t.rest).hi;
  return magnitude(x) < 0x1p-27 ? x : flip_if(y, (t.quarter >> 1) & 1u);
}
DAMO_MATH double cos_of(TurnDouble t) {
  const double y = (t.quarter & 1u) ? sin_reduced(t.r, t.rest).hi : cos_reduced(t.r, t.rest).hi;
  return flip_if(y, ((t.quarter + 1u) >> 1) & 1u);
}
DAMO_MATH double tan_of(TurnDouble t, double x) {
  DAMO_EXACT
  const Pair<double> s = sin_reduced(t.r, t.rest), c = cos_reduced(t.r, t.rest);
  const bool odd = t.quarter & 1u;
  const Pair<double> top = {odd ? c.hi : s.hi, odd ? c.lo : s.lo}, bottom = {odd ? s.hi : c.hi, odd ? s.lo : c.lo};
  const Pair<double> q = divide(top, bottom);
  return magnitude(x) < 0x1p-27 ? x : flip_if(q.hi + q.lo, t.quarter & 1u);
}
DAMO_MATH double sin_of_any(double x) { return sin_of(reduce_turn(x), x); }
DAMO_MATH double cos_of_any(double x) { return cos_of(reduce_turn(x)); }
DAMO_MATH double tan_of_any(double x) { return tan_of(reduce_turn(x), x); }

inline constexpr double kHalfPiDouble = 0x1.921fb54442d18p+0, kHalfPiDoubleLow = 0x1.1a62633145c07p-54;

// An x that is no further than that from 0 has fewer turns than a product with a part of pi/2 has digits to lose.
inline constexpr double kFarTurnDouble = 0x1p20;
DAMO_MATH bool is_far_turn(double x) { return !(magnitude(x) <= kFarTurnDouble); }
DAMO_MATH TurnDouble near_turn(double x) {
  DAMO_EXACT
  const double sum = madd(x, 0x1.45f306dc9c883p-1, kRounderDouble), turns = sum - kRounderDouble;
  // A multiple of pi/2's last digit, or of x's, and below 1: no digit is lost.
  const double whole = madd(-turns, kHalfPiDouble, x);
  const Pair<double> low = two_product(turns, kHalfPiDoubleLow), r = two_sum(whole, -low.hi);
  return {r.hi, madd(-turns, -0x1.f1976b7ed8fbcp-110, r.lo - low.lo), u32(bits(sum))};
}
DAMO_MATH double sin_near(double x) { return sin_of(near_turn(x), x); }
DAMO_MATH double cos_near(double x) { return cos_of(near_turn(x)); }
DAMO_MATH double tan_near(double x) { return tan_of(near_turn(x), x); }

}  // namespace math

DAMO_MATH double sin(double x) { return math::unless_rare<double, math::is_far_turn, math::sin_of_any, math::sin_near>(x); }
DAMO_MATH double cos(double x) { return math::unless_rare<double, math::is_far_turn, math::cos_of_any, math::cos_near>(x); }
DAMO_MATH double tan(double x) { return math::unless_rare<double, math::is_far_turn, math::tan_of_any, math::tan_near>(x); }

namespace math {

// asin s - s for s in [0, 1/2], z = s^2.
DAMO_MATH double asin_tail(double s, double z) {
  DAMO_EXACT
  return s * z * horner(z, 0x1.5555555555577p-3, 0x1.333333332e103p-4, 0x1.6db6db721431p-5, 0x1.f1c71a945bd1bp-6,
                     0x1.6e8bdeef7728fp-6, 0x1.1c49ef5c39b8ap-6, 0x1.ca1fa4718d892p-7, 0x1.7584d2e3f8644p-7,
                     0x1.614079d204b69p-7, 0x1.e5bad3f5c11d1p-9, 0x1.63ae377904aa6p-6, -0x1.5816a1554ba7ep-6,
                     0x1.0b4ea1184f042p-5);
}

// atan q - q for |q| <= tan(pi/8).
DAMO_MATH double atan_tail(double q) {
  DAMO_EXACT
  const double u = q * q;
  return q * u * horner(u, -0x1.555555555553dp-2, 0x1.99999999957bp-3, -0x1.24924922a98acp-3, 0x1.c71c70e4bf07p-4,
                     -0x1.745cf8ba4076p-4, 0x1.3b1116ec64f6dp-4, -0x1.10eba112e98a3p-4, 0x1.df0e0cf4266a2p-5,
                     -0x1.9ccd6aa2c9cf7p-5, 0x1.37c8b7494dc4ep-5, -0x1.254f22204bbf2p-6);
}

// atan(top / bottom) for 0 <= top <= bottom, in two parts. Above tan(pi/8): pi/4 + atan((top - bottom) / (top + bottom)).
DAMO_MATH Pair<double> atan_of_ratio(double top, double bottom) {
  DAMO_EXACT
  const bool high = top > 0x1.a827999fcef32p-2 * bottom;
  const double q = (high ? top - bottom : top) / (high ? top + bottom : bottom);
  const double base = high ? 0.5 * kHalfPiDouble : 0.0, base_low = high ? 0.5 * kHalfPiDoubleLow : 0.0;
  const Pair<double> sum = fast_two_sum(base, q);
  return {sum.hi, sum.lo + (atan_tail(q) + base_low)};
}

}  // namespace math

DAMO_MATH double asin(double x) {
  DAMO_EXACT
  const double a = math::magnitude(x);
  const bool high = a > 0.5;
  const double z = high ? 0.5 - 0.5 * a : a * a;
  const double s = high ? __builtin_sqrt(z) : a;
  const double tail = math::asin_tail(s, z);
  const double head = math::kHalfPiDouble - (s + s), lost = (math::kHalfPiDouble - head) - (s + s);
  const double far = head - (tail + tail - (math::kHalfPiDoubleLow + lost));
  return math::with_sign(high ? far : s + tail, x);
}

DAMO_MATH double acos(double x) {
  DAMO_EXACT
  const double a = math::magnitude(x);
  const bool high = a > 0.5, negative = x < 0.0;
  const double z = high ? 0.5 - 0.5 * a : a * a;
  const double s = high ? __builtin_sqrt(z) : a;
  const double tail = math::asin_tail(s, z), p = s + tail;
  const double near = math::kHalfPiDouble - ((x - math::kHalfPiDoubleLow) + (negative ? -tail : tail));
  const double far = negative ? 2.0 * math::kHalfPiDouble - (p + p - 2.0 * math::kHalfPiDoubleLow) : p + p;
  return high ? far : near;
}

DAMO_MATH double atan(double x) {
  DAMO_EXACT
  const double a = math::magnitude(x);
  const bool high = a > 1.0;
  const math::Pair<double> r = math::atan_of_ratio(high ? 1.0 : a, high ? a : 1.0);
  const double far = (math::kHalfPiDouble - r.hi) - (r.lo - math::kHalfPiDoubleLow);
  return x != x ? x : math::with_sign(high ? far : r.hi + r.lo, x);
}

DAMO_MATH double atan2(double y, double x) {
  DAMO_EXACT
  const double ax = math::magnitude(x), ay = math::magnitude(y);
  const bool steep = ay > ax, left = math::bits(x) >> 63;
  double top = steep ? ax : ay, bottom = steep ? ay : ax;
  const double inf = __builtin_inf();
  top = top == inf ? 1.0 : top;  // both infinite: pi/4
  bottom = ax == inf && ay == inf ? 1.0 : bottom;
  bottom = bottom == 0.0 ? 1.0 : bottom;
  const bool huge = bottom > 0x1p1000, tiny = bottom < 0x1p-900;  // top + bottom must not overflow
  const double scale = huge ? 0x1p-54 : (tiny ? 0x1p120 : 1.0);
  // A quotient below the normal range keeps its digits only unscaled: it is the result itself.
  const math::Pair<double> r = math::atan_of_ratio(top * scale, bottom * scale);
  const double turns = steep ? 1.0 : (left ? 2.0 : 0.0);  // quarter turns
  const bool minus = steep != left;
  const double rh = minus ? -r.hi : r.hi, rl = minus ? -r.lo : r.lo;
  const math::Pair<double> sum = math::two_sum(turns * math::kHalfPiDouble, rh);
  const double angle = sum.hi + (sum.lo + (rl + turns * math::kHalfPiDoubleLow));
  return x != x || y != y ? x + y : math::with_sign(angle, y);
}

}  // namespace damo
