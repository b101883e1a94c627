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

}  // namespace damo
