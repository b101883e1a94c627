// A 32-bit word taken as four bytes or two halves: __vadd4 and its family, the dot products of bytes, and the three-way
// and clamped minimum and maximum. Read when a source names one of them.
#pragma once
#include "cuda_math.h"
#pragma clang force_cuda_host_device begin

namespace damo::cuda {

// Each lane of the words a and b (and c) through f, in 64 bits.
template <class Lane, class F>
inline unsigned lanes(unsigned a, unsigned b, F f) {
  constexpr int kBits = 8 * sizeof(Lane);
  constexpr unsigned kMask = sizeof(Lane) == 1 ? 0xffu : 0xffffu;
  unsigned result = 0;
  for (int at = 0; at < 32; at += kBits) result |= (unsigned(f(long(Lane(a >> at)), long(Lane(b >> at)))) & kMask) << at;
  return result;
}
template <class Lane>
inline long clamped(long x) {
  constexpr long kLow = Lane(-1) < Lane(1) ? -(1l << (8 * sizeof(Lane) - 1)) : 0;
  constexpr long kHigh = kLow + (1l << 8 * sizeof(Lane)) - 1;
  return x < kLow ? kLow : x > kHigh ? kHigh : x;
}
template <class Lane>
inline long sum_of_lanes(unsigned word) {
  long sum = 0;
  for (int at = 0; at < 32; at += int(8 * sizeof(Lane))) sum += Lane(word >> at);
  return sum;
}

}  // namespace damo::cuda

#define __DAMO_LANES(name, Lane, expression)                                                              \
  inline unsigned name(unsigned x, unsigned y) {                                                          \
    return damo::cuda::lanes<Lane>(x, y, [](long a, long b) -> long { (void)b; return expression; });     \
  }
#define __DAMO_LANES_UNARY(name, Lane, expression)                                                        \
  inline unsigned name(unsigned x) {                                                                      \
    return damo::cuda::lanes<Lane>(x, 0, [](long a, long) -> long { return expression; });                \
  }
// Of lanes with a sign and of lanes without.
#define __DAMO_SIGNED_UNSIGNED(name, end, S, U, expression)                                               \
  __DAMO_LANES(name##s##end, S, expression) __DAMO_LANES(name##u##end, U, expression)
#define __DAMO_COMPARE(name, size, S, U, op)                                          \
  __DAMO_SIGNED_UNSIGNED(__vcmp##name, size, S, U, a op b ? -1 : 0)                   \
  __DAMO_SIGNED_UNSIGNED(__vset##name, size, S, U, a op b ? 1 : 0)
#define __DAMO_WORD(size, S, U)                                                       \
  __DAMO_LANES(__vadd##size, U, a + b)                                                \
  __DAMO_LANES(__vsub##size, U, a - b)                                                \
  __DAMO_LANES(__vaddss##size, S, damo::cuda::clamped<S>(a + b))                      \
  __DAMO_LANES(__vaddus##size, U, damo::cuda::clamped<U>(a + b))                      \
  __DAMO_LANES(__vsubss##size, S, damo::cuda::clamped<S>(a - b))                      \
  __DAMO_LANES(__vsubus##size, U, damo::cuda::clamped<U>(a - b))                      \
  __DAMO_LANES(__vavgs##size, S, (a + b + (a + b >= 0)) >> 1)                         \
  __DAMO_LANES(__vavgu##size, U, (a + b + 1) >> 1)                                    \
  __DAMO_LANES(__vhaddu##size, U, (a + b) >> 1)                                       \
  __DAMO_SIGNED_UNSIGNED(__vmin, size, S, U, b < a ? b : a)                           \
  __DAMO_SIGNED_UNSIGNED(__vmax, size, S, U, a < b ? b : a)                           \
  __DAMO_SIGNED_UNSIGNED(__vabsdiff, size, S, U, a < b ? b - a : a - b)               \
  __DAMO_LANES_UNARY(__vabs##size, S, a < 0 ? -a : a)                                 \
  __DAMO_LANES_UNARY(__vabsss##size, S, damo::cuda::clamped<S>(a < 0 ? -a : a))       \
  __DAMO_LANES_UNARY(__vneg##size, S, -a)                                             \
  __DAMO_LANES_UNARY(__vnegss##size, S, damo::cuda::clamped<S>(-a))                   \
  __DAMO_LANES(__vcmpeq##size, U, a == b ? -1 : 0)                                    \
  __DAMO_LANES(__vcmpne##size, U, a != b ? -1 : 0)                                    \
  __DAMO_LANES(__vseteq##size, U, a == b ? 1 : 0)                                     \
  __DAMO_LANES(__vsetne##size, U, a != b ? 1 : 0)                                     \
  __DAMO_COMPARE(lt, size, S, U, <) __DAMO_COMPARE(le, size, S, U, <=)                \
  __DAMO_COMPARE(gt, size, S, U, >) __DAMO_COMPARE(ge, size, S, U, >=)                \
  inline unsigned __vsads##size(unsigned x, unsigned y) { return unsigned(damo::cuda::sum_of_lanes<U>(__vabsdiffs##size(x, y))); } \
  inline unsigned __vsadu##size(unsigned x, unsigned y) { return unsigned(damo::cuda::sum_of_lanes<U>(__vabsdiffu##size(x, y))); }
__DAMO_WORD(4, signed char, unsigned char)
__DAMO_WORD(2, short, unsigned short)

// ---- dot products of bytes ----------------------------------------------------------------------------------------
namespace damo::cuda {
// Of as many As as a word holds.
template <class A, class B, class R>
inline R dot(unsigned a, unsigned b, R sum) {
  for (unsigned i = 0; i < 4 / sizeof(A); ++i) sum = R(unsigned(sum) + unsigned(int(A(a >> 8 * sizeof(A) * i)) * int(B(b >> 8 * i))));
  return sum;
}
template <class V>
inline unsigned word(V v) { return __builtin_bit_cast(unsigned, v); }
inline unsigned wrapped_sum(unsigned a, unsigned b) { return a + b; }
}  // namespace damo::cuda
#define __DAMO_DOT(name, S, U, SV, UV, shift)                                                                         \
  inline int name(int a, int b, int c) { return damo::cuda::dot<S, signed char>(a, unsigned(b) >> shift, c); }        \
  inline unsigned name(unsigned a, unsigned b, unsigned c) { return damo::cuda::dot<U, unsigned char>(a, b >> shift, c); } \
  inline int name(SV a, char4 b, int c) { return name(int(damo::cuda::word(a)), int(damo::cuda::word(b)), c); }       \
  inline unsigned name(UV a, uchar4 b, unsigned c) { return name(damo::cuda::word(a), damo::cuda::word(b), c); }
__DAMO_DOT(__dp4a, signed char, unsigned char, char4, uchar4, 0)
__DAMO_DOT(__dp2a_lo, short, unsigned short, short2, ushort2, 0)
__DAMO_DOT(__dp2a_hi, short, unsigned short, short2, ushort2, 16)

// ---- dynamic programming: minimum and maximum of three, of a sum, with and without a floor of zero -----------------
#define __DAMO_THREE(T, suffix, greater, less, sum)                                                      \
  inline T __vimax3_##suffix(T a, T b, T c) { return greater(greater(a, b), c); }                        \
  inline T __vimin3_##suffix(T a, T b, T c) { return less(less(a, b), c); }                              \
  inline T __viaddmax_##suffix(T a, T b, T c) { return greater(T(sum(a, b)), c); }                       \
  inline T __viaddmin_##suffix(T a, T b, T c) { return less(T(sum(a, b)), c); }
__DAMO_THREE(int, s32, max, min, damo::cuda::wrapped_sum)
__DAMO_THREE(unsigned, u32, max, min, damo::cuda::wrapped_sum)
__DAMO_THREE(unsigned, s16x2, __vmaxs2, __vmins2, __vadd2)
__DAMO_THREE(unsigned, u16x2, __vmaxu2, __vminu2, __vadd2)
#undef __DAMO_THREE
inline int __vimax_s32_relu(int a, int b) { return max(max(a, b), 0); }
inline int __vimin_s32_relu(int a, int b) { return max(min(a, b), 0); }
inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmaxs2(a, b), 0); }
inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmins2(a, b), 0); }
#define __DAMO_RELU(name)                                                                                                       \
  inline int name##_s32_relu(int a, int b, int c) { return max(name##_s32(a, b, c), 0); }                                       \
  inline unsigned name##_s16x2_relu(unsigned a, unsigned b, unsigned c) { return __vmaxs2(name##_s16x2(a, b, c), 0); }
__DAMO_RELU(__vimax3) __DAMO_RELU(__vimin3) __DAMO_RELU(__viaddmax) __DAMO_RELU(__viaddmin)
// And whether it was the first, or both were equal.
#define __DAMO_WHICH(name, T, Half, op)                                                                               \
  inline T name##32(T a, T b, bool* first) { return (*first = a op b) ? a : b; }                                      \
  inline unsigned name##16x2(unsigned a, unsigned b, bool* first_high, bool* first_low) {                             \
    *first_high = (Half)(a >> 16) op (Half)(b >> 16), *first_low = (Half)a op (Half)b;                                \
    return ((*first_high ? a : b) & 0xffff0000u) | ((*first_low ? a : b) & 0xffffu);                                  \
  }
__DAMO_WHICH(__vibmax_s, int, short, >=)
__DAMO_WHICH(__vibmin_s, int, short, <=)
__DAMO_WHICH(__vibmax_u, unsigned, unsigned short, >=)
__DAMO_WHICH(__vibmin_u, unsigned, unsigned short, <=)
#pragma clang force_cuda_host_device end
