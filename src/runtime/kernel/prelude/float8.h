// float8_e4m3 and float8_e5m2: storage of 8 bits, every operation in float. The same numbers as the host's Float8E4M3 and Float8E5M2 (damo/float8.hpp), on
// every back end bit for bit, so it is integer arithmetic: a GPU's own instructions saturate. Branch-free, so that a loop over it vectorises.
//
// Text of generated kernels: it goes after convert.h and the back end's math header, and includes nothing. See tests/function/float8_test.cpp.
#pragma once

namespace damo {
namespace math {

// A float's bits without the sign, as a number of so many bits of exponent and fraction: to nearest, ties to even. Beyond its numbers it counts on.
template <int Exponent, int Fraction>
DAMO_MATH u32 float8_code(u32 magnitude) {
  constexpr int kBias = (1 << (Exponent - 1)) - 1, kCut = 23 - Fraction;
  constexpr u32 kLeastNormal = u32(127 + 1 - kBias) << 23;
  constexpr u32 kSteps = u32(127 + 1 - kBias - Fraction + 23) << 23;  // 2^23 of the least steps: what is added to it is rounded to one
  const u32 small = bits(as_float(magnitude) + as_float(kSteps)) - kSteps;
  const u32 normal = ((magnitude + ((1u << (kCut - 1)) - 1u) + ((magnitude >> kCut) & 1u)) >> kCut) - (u32(127 - kBias) << Fraction);
  return magnitude < kLeastNormal ? small : normal;
}

}  // namespace math

struct float8_e4m3 {
  u8 bits;

  float8_e4m3() = default;
  DAMO_MEMBER float8_e4m3(float value) {
    const u32 word = math::bits(value), code = math::float8_code<4, 3>(word & 0x7fffffffu);
    bits = u8(((word >> 24) & 0x80u) | (code > 0x7eu ? 0x7fu : code));  // there is no infinity
  }
  DAMO_MEMBER operator float() const {
    const u32 magnitude = bits & 0x7fu;
    const u32 normal = magnitude == 0x7fu ? 0x7fc00000u : (magnitude << 20) + (120u << 23);
    return math::as_float((u32(bits & 0x80u) << 24) | (magnitude < 8u ? math::bits(float(int(magnitude)) * 0.001953125f) : normal));
  }
};

struct float8_e5m2 {
  u8 bits;

  float8_e5m2() = default;
  DAMO_MEMBER float8_e5m2(float value) {
    const u32 word = math::bits(value), magnitude = word & 0x7fffffffu, code = math::float8_code<5, 2>(magnitude);
    bits = u8(((word >> 24) & 0x80u) | (magnitude > 0x7f800000u ? 0x7eu : code > 0x7bu ? 0x7cu : code));
  }
  DAMO_MEMBER operator float() const {
    const u32 magnitude = bits & 0x7fu;
    const u32 normal = magnitude > 0x7cu ? 0x7fc00000u : magnitude == 0x7cu ? 0x7f800000u : (magnitude << 21) + (112u << 23);
    return math::as_float((u32(bits & 0x80u) << 24) | (magnitude < 4u ? math::bits(float(int(magnitude)) * 0.0000152587890625f) : normal));
  }
};
static_assert(sizeof(float8_e4m3) == 1 && sizeof(float8_e5m2) == 1, "stored in arrays");

}  // namespace damo
