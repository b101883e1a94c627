// Intrinsics that need no include: bits of numbers, integer arithmetic, conversions to nearest or truncating, loads and
// stores with cache hints. Directed rounding: cuda_rounding.h; words taken as vectors: cuda_simd.h.
#pragma once
#pragma clang force_cuda_host_device begin

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __double2hiint(double x) { return int(__builtin_bit_cast(unsigned long, x) >> 32); }
inline int __double2loint(double x) { return int(__builtin_bit_cast(unsigned long, x)); }
inline double __hiloint2double(int high, int low) { return __builtin_bit_cast(double, (unsigned long)(unsigned)high << 32 | (unsigned)low); }

// ---- integers -----------------------------------------------------------------------------------------------------
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline int ffs(int x) { return __builtin_ffs(x); }
inline int ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
inline unsigned long long __brevll(unsigned long long x) { return __builtin_bitreverse64(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long)a * b >> 32); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
inline int mulhi(int a, int b) { return __mulhi(a, b); }
inline unsigned umulhi(unsigned a, unsigned b) { return __umulhi(a, b); }
inline int __mul24(int a, int b) { return int(unsigned(int(unsigned(a) << 8) >> 8) * unsigned(int(unsigned(b) << 8) >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffffu) * (b & 0xffffffu); }
inline int mul24(int a, int b) { return __mul24(a, b); }
inline unsigned umul24(unsigned a, unsigned b) { return __umul24(a, b); }
inline unsigned __sad(int a, int b, unsigned c) { return c + (a < b ? unsigned(b) - unsigned(a) : unsigned(a) - unsigned(b)); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a < b ? b - a : a - b); }
inline int __hadd(int a, int b) { return int(((long)a + b) >> 1); }
inline int __rhadd(int a, int b) { return int(((long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long)a + b + 1) >> 1); }
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) { return unsigned(((unsigned long)high << 32 | low) << (shift & 31) >> 32); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) { return unsigned(((unsigned long)high << 32 | low) >> (shift & 31)); }
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) { return shift >= 32 ? low : __funnelshift_l(low, high, shift); }
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) { return shift >= 32 ? high : __funnelshift_r(low, high, shift); }
// Four bytes out of eight. A selector's fourth bit gives the byte's sign eight times, as the hardware does.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned selector) {
  const unsigned long bytes = (unsigned long)high << 32 | low;
  unsigned result = 0;
  for (int i = 0; i < 4; ++i) {
    const unsigned s = selector >> 4 * i;
    const unsigned byte = unsigned(bytes >> 8 * (s & 7)) & 0xffu;
    result |= (s & 8 ? (byte & 0x80u ? 0xffu : 0u) : byte) << 8 * i;
  }
  return result;
}
// Position of the n-th set bit from base: upwards for n > 0, downwards for n < 0, base itself for 0; ~0 if there is none.
inline unsigned __fns(unsigned mask, unsigned base, int n) {
  if (n == 0) return base < 32 && (mask >> base & 1) ? base : 0xffffffffu;
  int left = n < 0 ? -n : n;
  for (int at = int(base); at >= 0 && at < 32; at += n < 0 ? -1 : 1) {
    if ((mask >> at & 1) && --left == 0) return unsigned(at);
  }
  return 0xffffffffu;
}

// ---- arithmetic with one stated rounding --------------------------------------------------------------------------
#pragma clang fp contract(off)
#define __DAMO_ROUNDED(T, letter)                             \
  inline T __##letter##add_rn(T a, T b) { return a + b; }     \
  inline T __##letter##sub_rn(T a, T b) { return a - b; }     \
  inline T __##letter##mul_rn(T a, T b) { return a * b; }     \
  inline T __##letter##div_rn(T a, T b) { return a / b; }     \
  inline T __##letter##rcp_rn(T x) { return T(1) / x; }
__DAMO_ROUNDED(float, f) __DAMO_ROUNDED(double, d)
#undef __DAMO_ROUNDED
#pragma clang fp contract(fast)
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline double __dsqrt_rn(double x) { return sqrt(x); }
inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float __fmaf_ieee_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }

// ---- conversions. Out of range: the nearest value there is; of a NaN: 0 ------------------------------------
#define __DAMO_TO_INTEGER(T, to, F, from, round)                                    \
  inline T __##from##2##to##_rn(F x) { return (T)rint##round(x); }                  \
  inline T __##from##2##to##_rz(F x) { return (T)x; }                               \
  inline T __##from##2##to##_rd(F x) { return (T)floor##round(x); }                 \
  inline T __##from##2##to##_ru(F x) { return (T)ceil##round(x); }
#define __DAMO_FROM_FLOATING(F, from, round)                                                                \
  __DAMO_TO_INTEGER(int, int, F, from, round) __DAMO_TO_INTEGER(unsigned, uint, F, from, round)             \
  __DAMO_TO_INTEGER(long long, ll, F, from, round) __DAMO_TO_INTEGER(unsigned long long, ull, F, from, round)
__DAMO_FROM_FLOATING(float, float, f)
__DAMO_FROM_FLOATING(double, double, )
#undef __DAMO_TO_INTEGER
#define __DAMO_FROM_INTEGER(I, from)                              \
  inline float __##from##2float_rn(I x) { return float(x); }      \
  inline double __##from##2double_rn(I x) { return double(x); }
__DAMO_FROM_INTEGER(int, int) __DAMO_FROM_INTEGER(unsigned, uint)
__DAMO_FROM_INTEGER(long long, ll) __DAMO_FROM_INTEGER(unsigned long long, ull)
inline float __double2float_rn(double x) { return float(x); }

// ---- memory -------------------------------------------------------------------------------------------------------
#define __DAMO_LOAD(name) template <class T> inline T name(const T* p) { return *p; }
__DAMO_LOAD(__ldg) __DAMO_LOAD(__ldcg) __DAMO_LOAD(__ldca) __DAMO_LOAD(__ldcs) __DAMO_LOAD(__ldlu) __DAMO_LOAD(__ldcv)
#define __DAMO_STORE(name) template <class T> inline void name(T* p, damo::cuda::same<T> value) { *p = value; }
__DAMO_STORE(__stcg) __DAMO_STORE(__stcs) __DAMO_STORE(__stwb) __DAMO_STORE(__stwt)
#define __DAMO_FLAT(space)                                                                  \
  inline size_t __cvta_generic_to_##space(const void* p) { return (size_t)p; }              \
  inline void* __cvta_##space##_to_generic(size_t p) { return (void*)p; }
__DAMO_FLAT(shared) __DAMO_FLAT(global) __DAMO_FLAT(constant) __DAMO_FLAT(local)
inline void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
inline void* memmove(void* to, const void* from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
inline void* memset(void* to, int byte, size_t bytes) { return __builtin_memset(to, byte, bytes); }
inline int memcmp(const void* a, const void* b, size_t bytes) { return __builtin_memcmp(a, b, bytes); }
inline void __nanosleep(unsigned) {}
#define __prof_trigger(number)
#define __assume(condition) __builtin_assume(condition)
#pragma clang force_cuda_host_device end
