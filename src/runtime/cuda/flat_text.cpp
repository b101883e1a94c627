#include "runtime/cuda/flat_text.hpp"

namespace damo {

// What lies 32 lanes on is so many bytes on: 32 words are all banks.
const char* const kCudaFlat = R"(template <bool Gaps> DAMO_FUNCTION constexpr u32 flat_place(u32 byte) { return Gaps ? byte + byte / 128 * 16 : byte; }
template <bool Gaps, int N> DAMO_FUNCTION u32 flat_place(u32 lane, int r) { return !Gaps || N % 4 == 0 ? flat_place<Gaps>(lane * N) + u32(r) * flat_place<Gaps>(32 * N) : flat_place<Gaps>((r * 32 + lane) * N); }
template <class T, int W> DAMO_FUNCTION void fetch_vector(unsigned char* to, const T* from) {
#if __CUDA_ARCH__ >= 800
  if constexpr (sizeof(T) * W >= 4) return fetch<int(sizeof(T) * W)>(to, from);
#endif
  *reinterpret_cast<Vec<T, W>*>(to) = *reinterpret_cast<const Vec<T, W>*>(from);
}
template <int W, int R, bool Gaps, class T> DAMO_FUNCTION void fetch_flat(unsigned char* run, const T* from, u32 lane) {
  from += lane * W;
#pragma unroll
  for (int r = 0; r < R; ++r) fetch_vector<T, W>(run + flat_place<Gaps, int(sizeof(T)) * W>(lane, r), from + r * 32 * W);
}
template <int W, int R, bool Gaps, class T> DAMO_FUNCTION void fetch_some_flat(unsigned char* run, const T* from, u32 lane, u32 many) {
#pragma unroll 1
  for (u32 at = lane * W; at < many; at += 32 * W) fetch_vector<T, W>(run + flat_place<Gaps>(at * u32(sizeof(T))), from + at);
}
template <int W, int R, bool Gaps, class T> DAMO_FUNCTION void store_flat(T* to, const unsigned char* run, u32 lane) {
  to += lane * W;
#pragma unroll
  for (int r = 0; r < R; ++r) store<W>(to + r * 32 * W, *reinterpret_cast<const Vec<T, W>*>(run + flat_place<Gaps, int(sizeof(T)) * W>(lane, r)));
}
template <int W, int R, bool Gaps, class T> DAMO_FUNCTION void store_some_flat(T* to, const unsigned char* run, u32 lane, u32 many) {
#pragma unroll 1
  for (u32 at = lane * W; at < many; at += 32 * W) store<W>(to + at, *reinterpret_cast<const Vec<T, W>*>(run + flat_place<Gaps>(at * u32(sizeof(T)))));
}
template <int Bytes> constexpr int kFlatWidth = (Bytes & -Bytes) < 16 ? (Bytes & -Bytes) : 16;
template <class T, int N, bool Gaps> DAMO_FUNCTION Vec<T, N> take_flat(const unsigned char* run, u32 lane, int u) {
  constexpr int kBytes = int(sizeof(T)) * N, kEach = kFlatWidth<kBytes> / int(sizeof(T));
  run += u32(u) * flat_place<Gaps>(32 * kBytes);
  Vec<T, N> vector;
#pragma unroll
  for (int k = 0; k < N; k += kEach) {
    const Vec<T, kEach> part = *reinterpret_cast<const Vec<T, kEach>*>(run + flat_place<Gaps>(lane * kBytes + k * int(sizeof(T))));
#pragma unroll
    for (int e = 0; e < kEach; ++e) vector.e[k + e] = part.e[e];
  }
  return vector;
}
template <bool Gaps, class T, int N> DAMO_FUNCTION void put_flat(unsigned char* run, u32 lane, int u, const Vec<T, N>& vector) {
  constexpr int kBytes = int(sizeof(T)) * N, kEach = kFlatWidth<kBytes> / int(sizeof(T));
  run += u32(u) * flat_place<Gaps>(32 * kBytes);
#pragma unroll
  for (int k = 0; k < N; k += kEach) {
    Vec<T, kEach> part;
#pragma unroll
    for (int e = 0; e < kEach; ++e) part.e[e] = vector.e[k + e];
    *reinterpret_cast<Vec<T, kEach>*>(run + flat_place<Gaps>(lane * kBytes + k * int(sizeof(T)))) = part;
  }
}
)";

// With r the reciprocal rounded once, the product q = x r is at most 1.5 ulp from x / y: half of one by its own rounding, one by r's. The remainder x - q y and its product with r are off by 2^-24 of
// themselves each, so what the correction q + (x - q y) r rounds is at most 1.5 2^-23 ulp from x / y, and rounds as x / y does unless that is as near to what lies halfway between two floats. With X and Y of 24 bits, and
// M / 2 halfway, it is k / 2Y ulp from there, X 2^s = M Y + k, so k is 6 at most: all such pairs were tried, for each Y, and none differs (known_divisor_test.cpp tries some; of the two corrections of
// Markstein 1990, who needs q within an ulp, the second changes nothing here). All that supposes that nothing on the way leaves the numbers of 24 bits: with y from 2^-40 to 2^40 and x from
// 2^-84 to 2^84 quotients lie between 2^-124 and 2^124, and the last bit of a remainder is 2^-84 2^-48 or more. Of a negative y x has the sign: the remainder of a zero is then 0, of which a
// correction makes -0, and -0 added to a zero leaves its sign. All else is `rare`; 2 bits(x) - 1 is the greatest number there is where x is a zero.
const char* const kCudaKnownDivisor = R"(struct KnownDivisor { float value, reciprocal, sign, limit; };  // reciprocal: of -value
DAMO_FUNCTION KnownDivisor known_divisor(float y) {
  const float value = fabsf(y);
  return KnownDivisor{value, -1.0f / value, copysignf(1.0f, y), value >= 0x1p-40f && value <= 0x1p40f ? 0x1p84f : -1.0f};
}
DAMO_FUNCTION float divide_whole(float x, const KnownDivisor& d) {
  x *= d.sign;
  const float quotient = -x * d.reciprocal;
  return fmaf(fmaf(quotient, d.value, -x), d.reciprocal, quotient);
}
DAMO_FUNCTION float divide_known(float x, const KnownDivisor& d, bool& rare) {
  rare |= (math::bits(x) * 2u - 1u < (43u << 24) - 1u) | !(fabsf(x) <= d.limit);
  return divide_whole(x, d);
}
)";

}  // namespace damo
