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

// With r the reciprocal rounded once and q within an ulp of x / y, the remainder x - q y has the 24 bits of a float, and q + (x - q y) r rounded once is x / y rounded once (Markstein 1990). The first
// product x r may be 1.5 ulp off, of which one correction makes less than one and a second one x / y. What one correction rounds is 2^-22 ulp from x / y at most, so it suffices where x / y is farther than that from
// what lies halfway between two floats: x is no multiple of y there, so of a y of n bits at least 2^-n-1 ulp. All that supposes that nothing on the way leaves the numbers of 24 bits: with y from 2^-40
// to 2^40 and x from 2^-84 to 2^84 quotients lie between 2^-124 and 2^124, and the last bit of a remainder is 2^-84 2^-48 or more. Of a negative y x has the sign: the remainder of a zero is then 0, of
// which a correction makes -0, and -0 added to a zero leaves its sign. All else is `rare`; 2 bits(x) - 1 is the greatest number there is where x is a zero.
const char* const kCudaKnownDivisor = R"(template <int Corrections> struct KnownDivisor { float value, reciprocal, sign, limit; };  // reciprocal: of -value
template <int Corrections> DAMO_FUNCTION KnownDivisor<Corrections> known_divisor(float y) {
  const float value = fabsf(y);
  const bool divides = value >= 0x1p-40f && value <= 0x1p40f && (Corrections > 1 || (math::bits(y) & 0xfffu) == 0);
  return KnownDivisor<Corrections>{value, -1.0f / value, copysignf(1.0f, y), divides ? 0x1p84f : -1.0f};
}
template <int Corrections> DAMO_FUNCTION float divide_whole(float x, const KnownDivisor<Corrections>& d) {
  x *= d.sign;
  float quotient = -x * d.reciprocal;
#pragma unroll
  for (int i = 0; i < Corrections; ++i) quotient = fmaf(fmaf(quotient, d.value, -x), d.reciprocal, quotient);
  return quotient;
}
template <int Corrections> DAMO_FUNCTION float divide_known(float x, const KnownDivisor<Corrections>& d, bool& rare) {
  rare |= (math::bits(x) * 2u - 1u < (43u << 24) - 1u) | !(fabsf(x) <= d.limit);
  return divide_whole(x, d);
}
)";

}  // namespace damo
