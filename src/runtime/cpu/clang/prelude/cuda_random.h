// <curand_kernel.h>: XORWOW (Marsaglia 2003, seeded and skipped ahead as cuRAND documents) and Philox 4x32-10 (Salmon et
// al. 2011): the same words as on a GPU. Uniform numbers are equal too, normal ones to a few ulp.
#pragma once
#include "cuda_math.h"
#include "cuda_intrinsics.h"
#include "cuda_special.h"

extern "C" __device__ __attribute__((nothrow, host)) void __damo_xorwow_skip(unsigned* words, unsigned long long count, int log2_step);

#pragma clang force_cuda_host_device begin
struct curandStateXORWOW {
  unsigned d, v[5];
  int has_normal, has_normal_double;
  float normal;
  double normal_double;
};
struct curandStatePhilox4_32_10 {
  uint4 ctr, output;
  uint2 key;
  unsigned STATE;
  int has_normal, has_normal_double;
  float normal;
  double normal_double;
};
using curandState = curandStateXORWOW;
using curandState_t = curandStateXORWOW;
using curandStateXORWOW_t = curandStateXORWOW;
using curandStatePhilox4_32_10_t = curandStatePhilox4_32_10;

// ---- XORWOW -------------------------------------------------------------------------------------------------------
inline void skipahead(unsigned long long count, curandStateXORWOW* s) {
  if (count) __damo_xorwow_skip(s->v, count, 0);
  s->d += 362437u * unsigned(count);
}
inline void skipahead_sequence(unsigned long long count, curandStateXORWOW* s) { if (count) __damo_xorwow_skip(s->v, count, 67); }
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStateXORWOW* s) {
  const unsigned a = 1099087573u * (unsigned(seed) ^ 0xaad26b49u), b = 2591861531u * (unsigned(seed >> 32) ^ 0xf7dcefddu);
  s->d = 6615241u + b + a;
  s->v[0] = 123456789u + a, s->v[1] = 362436069u ^ a, s->v[2] = 521288629u + b, s->v[3] = 88675123u ^ b, s->v[4] = 5783321u + a;
  s->has_normal = s->has_normal_double = 0, s->normal = 0, s->normal_double = 0;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}
inline unsigned curand(curandStateXORWOW* s) {
  const unsigned t = s->v[0] ^ (s->v[0] >> 2);
  s->v[0] = s->v[1], s->v[1] = s->v[2], s->v[2] = s->v[3], s->v[3] = s->v[4];
  s->v[4] = (s->v[4] ^ (s->v[4] << 4)) ^ (t ^ (t << 1));
  s->d += 362437u;
  return s->v[4] + s->d;
}

// ---- Philox -------------------------------------------------------------------------------------------------------
inline uint4 curand_Philox4x32_10(uint4 c, uint2 k) {
  for (int round = 0; round < 10; ++round) {
    const unsigned high0 = __umulhi(0xd2511f53u, c.x), low0 = 0xd2511f53u * c.x;
    const unsigned high1 = __umulhi(0xcd9e8d57u, c.z), low1 = 0xcd9e8d57u * c.z;
    c = uint4{high1 ^ c.y ^ k.x, low1, high0 ^ c.w ^ k.y, low0};
    k.x += 0x9e3779b9u, k.y += 0xbb67ae85u;
  }
  return c;
}
namespace damo::cuda {
// In this order: braces are evaluated from left to right.
template <class State>
inline uint2 two_words(State* s) { return {curand(s), curand(s)}; }
template <class State>
inline uint4 four_words(State* s) { return {curand(s), curand(s), curand(s), curand(s)}; }
// Adds to the counter, and makes the words that belong to it.
inline void philox_count(curandStatePhilox4_32_10* s, unsigned __int128 more) {
  s->ctr = __builtin_bit_cast(uint4, __builtin_bit_cast(unsigned __int128, s->ctr) + more);
  s->output = curand_Philox4x32_10(s->ctr, s->key);
}
}  // namespace damo::cuda
inline void skipahead(unsigned long long count, curandStatePhilox4_32_10* s) {
  s->STATE += unsigned(count & 3);
  count /= 4;
  if (s->STATE > 3) ++count, s->STATE -= 4;
  damo::cuda::philox_count(s, count);
}
inline void skipahead_sequence(unsigned long long count, curandStatePhilox4_32_10* s) { damo::cuda::philox_count(s, (unsigned __int128)count << 64); }
inline void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, curandStatePhilox4_32_10* s) {
  s->ctr = uint4{0, 0, 0, 0};
  s->key = uint2{unsigned(seed), unsigned(seed >> 32)};
  s->STATE = 0;
  s->has_normal = s->has_normal_double = 0, s->normal = 0, s->normal_double = 0;
  skipahead_sequence(sequence, s);
  skipahead(offset, s);
}
inline unsigned curand(curandStatePhilox4_32_10* s) {
  const unsigned word = (&s->output.x)[s->STATE++];
  if (s->STATE == 4) {
    damo::cuda::philox_count(s, 1);
    s->STATE = 0;
  }
  return word;
}
inline uint4 curand4(curandStatePhilox4_32_10* s) { return damo::cuda::four_words(s); }

// ---- distributions ------------------------------------------------------------------------------------------------
namespace damo::cuda {
inline float uniform(unsigned x) { return fmaf(float(x), 2.3283064365386963e-10f, 1.1641532182693481e-10f); }
inline double uniform(uint2 w) {
  const unsigned long long z = (unsigned long long)w.x ^ ((unsigned long long)w.y << 21);
  return fma(double(z), 1.1102230246251565e-16, 5.5511151231257827e-17);
}
inline float2 normals(uint2 w) {
  const float angle = fmaf(float(w.y), 1.4629180792671596e-09f, 7.3145903963357981e-10f);
  const float radius = sqrtf(-2.0f * logf(uniform(w.x)));
  return float2{radius * sinf(angle), radius * cosf(angle)};
}
inline double2 normals(uint4 w) {
  const double turn = 2.0 * uniform(uint2{w.z, w.w});
  const double radius = sqrt(-2.0 * log(uniform(uint2{w.x, w.y})));
  return double2{radius * sinpi(turn), radius * cospi(turn)};
}
}  // namespace damo::cuda
template <class State>
inline float curand_uniform(State* s) { return damo::cuda::uniform(curand(s)); }
template <class State>
inline double curand_uniform_double(State* s) { return damo::cuda::uniform(damo::cuda::two_words(s)); }
template <class State>
inline float2 curand_normal2(State* s) { return damo::cuda::normals(damo::cuda::two_words(s)); }
template <class State>
inline double2 curand_normal2_double(State* s) { return damo::cuda::normals(damo::cuda::four_words(s)); }
#define __DAMO_NORMAL(T, suffix)                                                              \
  template <class State>                                                                      \
  inline T curand_normal##suffix(State* s) {                                                  \
    if (s->has_normal##suffix) return s->has_normal##suffix = 0, s->normal##suffix;           \
    const auto pair = curand_normal2##suffix(s);                                              \
    s->has_normal##suffix = 1, s->normal##suffix = pair.y;                                    \
    return pair.x;                                                                            \
  }                                                                                           \
  template <class State>                                                                      \
  inline T curand_log_normal##suffix(State* s, T mean, T deviation) { return exp(mean + deviation * curand_normal##suffix(s)); }
__DAMO_NORMAL(float, ) __DAMO_NORMAL(double, _double)
#undef __DAMO_NORMAL
inline float4 curand_uniform4(curandStatePhilox4_32_10* s) {
  const uint4 w = curand4(s);
  return float4{damo::cuda::uniform(w.x), damo::cuda::uniform(w.y), damo::cuda::uniform(w.z), damo::cuda::uniform(w.w)};
}
inline float4 curand_normal4(curandStatePhilox4_32_10* s) {
  const uint4 w = curand4(s);
  const float2 a = damo::cuda::normals(uint2{w.x, w.y}), b = damo::cuda::normals(uint2{w.z, w.w});
  return float4{a.x, a.y, b.x, b.y};
}
inline double2 curand_uniform2_double(curandStatePhilox4_32_10* s) {
  const uint4 w = curand4(s);
  return double2{damo::cuda::uniform(uint2{w.x, w.y}), damo::cuda::uniform(uint2{w.z, w.w})};
}
struct curandStateMRG32k3a {};
__attribute__((unavailable("cuRAND's MRG32k3a is not supported on the CPU")))
inline void curand_init(unsigned long long, unsigned, unsigned long long, curandStateMRG32k3a*) {}
template <class State>
__attribute__((unavailable("cuRAND's Poisson distribution is not supported on the CPU"))) inline unsigned curand_poisson(State*, double) { return 0; }
#pragma clang force_cuda_host_device end
