// The CUDA C dialect on the CPU: what nvcc declares without an include. Compiled in Clang's CUDA device mode on the
// host's own target. The functions named __damo_* below are markers: lower_cuda.cpp turns them into loop variables.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __CUDACC__ 12
#undef __CUDA_ARCH__
#define __CUDA_ARCH__ 800
#define __DAMO_CPU__ 1

using size_t = decltype(sizeof(0));
using ptrdiff_t = decltype((char*)0 - (char*)0);
using int8_t = damo::i8;
using int16_t = damo::i16;
using int32_t = damo::i32;
using int64_t = damo::i64;
using uint8_t = damo::u8;
using uint16_t = damo::u16;
using uint32_t = damo::u32;
using uint64_t = damo::u64;
using uintptr_t = damo::u64;
using intptr_t = damo::i64;
using uchar = unsigned char;
using ushort = unsigned short;
using uint = unsigned int;
using ulong = unsigned long;

#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define HUGE_VAL __builtin_huge_val()
#define FLT_MAX __FLT_MAX__
#define FLT_MIN __FLT_MIN__
#define FLT_EPSILON __FLT_EPSILON__
#define DBL_MAX __DBL_MAX__
#define DBL_MIN __DBL_MIN__
#define DBL_EPSILON __DBL_EPSILON__
#define INT_MAX __INT_MAX__
#define INT_MIN (-__INT_MAX__ - 1)
#define UINT_MAX (__INT_MAX__ * 2U + 1U)
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_E 2.7182818284590452354
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define CUDART_INF_F __builtin_inff()
#define CUDART_INF __builtin_inf()
#define CUDART_NAN_F __builtin_nanf("")
#define CUDART_PI_F 3.141592654f
#define CUDART_PI 3.1415926535897931e+0

// ---- vector types -------------------------------------------------------------------------------------------------
#define __DAMO_VECTOR(T, name, a1, a2, a4)                                                                     \
  struct name##1 { T x; };                                                                                   \
  struct __attribute__((aligned(a2))) name##2 { T x, y; };                                                   \
  struct name##3 { T x, y, z; };                                                                             \
  struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                                             \
  __host__ __device__ inline name##1 make_##name##1(T x) { return {x}; }                                     \
  __host__ __device__ inline name##2 make_##name##2(T x, T y) { return {x, y}; }                             \
  __host__ __device__ inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                     \
  __host__ __device__ inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
__DAMO_VECTOR(signed char, char, 1, 2, 4)
__DAMO_VECTOR(unsigned char, uchar, 1, 2, 4)
__DAMO_VECTOR(short, short, 2, 4, 8)
__DAMO_VECTOR(unsigned short, ushort, 2, 4, 8)
__DAMO_VECTOR(int, int, 4, 8, 16)
__DAMO_VECTOR(unsigned int, uint, 4, 8, 16)
__DAMO_VECTOR(long, long, 8, 16, 16)
__DAMO_VECTOR(unsigned long, ulong, 8, 16, 16)
__DAMO_VECTOR(long long, longlong, 8, 16, 16)
__DAMO_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
__DAMO_VECTOR(float, float, 4, 8, 16)
__DAMO_VECTOR(double, double, 8, 16, 16)
#undef __DAMO_VECTOR

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};

// ---- indices ------------------------------------------------------------------------------------------------------
#define __DAMO_MARKER(name) extern "C" __device__ __attribute__((const)) unsigned name(void);
#define __DAMO_INDEX(variable, marker)                                                                         \
  __DAMO_MARKER(__damo_##marker##_x)                                                                         \
  __DAMO_MARKER(__damo_##marker##_y)                                                                         \
  __DAMO_MARKER(__damo_##marker##_z)                                                                         \
  struct __damo_##variable {                                                                                 \
    __declspec(property(get = __x)) unsigned x;                                                              \
    __declspec(property(get = __y)) unsigned y;                                                              \
    __declspec(property(get = __z)) unsigned z;                                                              \
    __device__ static inline unsigned __x() { return __damo_##marker##_x(); }                                \
    __device__ static inline unsigned __y() { return __damo_##marker##_y(); }                                \
    __device__ static inline unsigned __z() { return __damo_##marker##_z(); }                                \
    __device__ operator uint3() const { return uint3{__x(), __y(), __z()}; }                                 \
    __device__ operator dim3() const { return dim3(__x(), __y(), __z()); }                                   \
    __damo_##variable(const __damo_##variable&) = delete;                                                    \
    __device__ void operator&() const = delete;                                                              \
  };                                                                                                         \
  extern const __device__ __damo_##variable variable;
__DAMO_INDEX(threadIdx, thread)
__DAMO_INDEX(blockIdx, block)
__DAMO_INDEX(blockDim, block_size)
__DAMO_INDEX(gridDim, grid_size)
#undef __DAMO_INDEX
#undef __DAMO_MARKER
constexpr int warpSize = 32;

namespace damo {
// An array with its shape and strides, in elements (<damo/strided.hpp>).
template <class T, int rank>
struct Strided {
  T* data;
  long shape[rank];
  long strides[rank];
  template <class... Index>
  __host__ __device__ T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == rank, "one index for each axis");
    const long at[] = {static_cast<long>(index)...};
    long offset = 0;
    for (int axis = 0; axis < rank; ++axis) offset += at[axis] * strides[axis];
    return data[offset];
  }
};
}  // namespace damo

namespace damo::cuda {

// Where one thread stands; lower_cuda.cpp reads the markers from here, in this order.
struct Indices {
  unsigned thread[3], block[3], block_size[3], grid_size[3];
};

// The mirror of damo::cpu_backend::ThreadState (thread_state.hpp): same members, same order.
struct ThreadState {
  Indices at;
  const LaunchFrame* frame;
  int kind;
  unsigned mask;
  unsigned long value;
  int operand;
  unsigned reserved;
};
static_assert(sizeof(ThreadState) == 80);

template <int I, class F>
struct ParameterOf;
template <int I, class R, class... P>
struct ParameterOf<I, R(P...)> {
  using type = __type_pack_element<I, P...>;
};
template <int I, class F>
using Parameter = typename ParameterOf<I, F>::type;

}  // namespace damo::cuda

extern "C" __device__ void __damo_indices(damo::cuda::ThreadState*);
extern "C" __device__ void __damo_thread_loop(void);

// The body of an entry: a statement for each of the blocks [first, last). Blocks are counted, not divided: a division
// costs as much as 64 threads of a small kernel. Variadic because a kernel's name may hold commas.
#define __DAMO_RUN_BLOCKS(...)                                                                               \
  damo::cuda::ThreadState state;                                                                            \
  __damo_indices(&state);                                                                                   \
  damo::cuda::Indices& at = state.at;                                                                       \
  const unsigned nx = frame->block[0], ny = frame->block[1], nz = frame->block[2];                          \
  const unsigned gx = frame->grid[0], gy = frame->grid[1];                                                  \
  state.frame = frame;                                                                                      \
  at.block_size[0] = nx, at.block_size[1] = ny, at.block_size[2] = nz;                                      \
  at.grid_size[0] = gx, at.grid_size[1] = gy, at.grid_size[2] = frame->grid[2];                             \
  at.block[0] = unsigned(first % gx);                                                                       \
  at.block[1] = unsigned(first / gx % gy);                                                                  \
  at.block[2] = unsigned(first / gx / gy);                                                                  \
  for (long block = first; block < last; ++block) {                                                         \
    __VA_ARGS__                                                                                             \
    if (++at.block[0] == gx) {                                                                              \
      at.block[0] = 0;                                                                                      \
      if (++at.block[1] == gy) at.block[1] = 0, ++at.block[2];                                              \
    }                                                                                                       \
  }

// The call once for each thread of a block. Without barriers the threads of a block are independent, so the innermost
// loop is over x and vectorises.
#define __DAMO_RUN_THREADS(...)                                                                              \
  for (unsigned z = 0; z < nz; ++z)                                                                         \
    for (unsigned y = 0; y < ny; ++y)                                                                       \
      for (unsigned x = 0; x < nx; ++x) {                                                                   \
        __damo_thread_loop();                                                                               \
        at.thread[0] = x, at.thread[1] = y, at.thread[2] = z;                                               \
        __VA_ARGS__;                                                                                        \
      }

#include "cuda_sync.h"

// ---- math ---------------------------------------------------------------------------------------------------------
// damo's own functions where math_*.h has them; the C library's for the rest (scalar, so a loop with one is slow).
// The outer namespace holds the rest: an unqualified name inside damo finds damo's own first.
#pragma clang force_cuda_host_device begin
namespace damo_libm {
#define __DAMO_UNARY(name)                                         \
  inline float name(float x) { return __builtin_##name##f(x); }     \
  inline double name(double x) { return __builtin_##name(x); }
#define __DAMO_BINARY(name)                                                    \
  inline float name(float x, float y) { return __builtin_##name##f(x, y); }     \
  inline double name(double x, double y) { return __builtin_##name(x, y); }
#define __DAMO_UNARY_LIST(X)                                                                                   \
  X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sqrt) X(cbrt) X(sin) X(cos) X(tan) X(asin)      \
  X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(tgamma) X(lgamma)      \
  X(floor) X(ceil) X(trunc) X(round) X(rint) X(nearbyint) X(fabs)
#define __DAMO_BINARY_LIST(X) X(pow) X(atan2) X(fmod) X(hypot) X(fmin) X(fmax) X(copysign) X(fdim) X(remainder) X(nextafter)
__DAMO_UNARY_LIST(__DAMO_UNARY)
__DAMO_BINARY_LIST(__DAMO_BINARY)
#undef __DAMO_UNARY
#undef __DAMO_BINARY
}  // namespace damo_libm

namespace damo::cuda {
using namespace ::damo_libm;
#define __DAMO_UNARY(name)                              \
  inline float call_##name(float x) { return name(x); }  \
  inline double call_##name(double x) { return name(x); }
#define __DAMO_BINARY(name)                                                 \
  inline float call_##name(float x, float y) { return name(x, y); }          \
  inline double call_##name(double x, double y) { return name(x, y); }
__DAMO_UNARY_LIST(__DAMO_UNARY)
__DAMO_BINARY_LIST(__DAMO_BINARY)
#undef __DAMO_UNARY
#undef __DAMO_BINARY
}  // namespace damo::cuda

#define __DAMO_UNARY(name)                                            \
  inline float name##f(float x) { return damo::cuda::call_##name(x); } \
  inline float name(float x) { return damo::cuda::call_##name(x); }    \
  inline double name(double x) { return damo::cuda::call_##name(x); }
#define __DAMO_BINARY(name)                                                              \
  inline float name##f(float x, float y) { return damo::cuda::call_##name(x, y); }        \
  inline float name(float x, float y) { return damo::cuda::call_##name(x, y); }           \
  inline double name(double x, double y) { return damo::cuda::call_##name(x, y); }        \
  inline double name(float x, double y) { return damo::cuda::call_##name(double(x), y); } \
  inline double name(double x, float y) { return damo::cuda::call_##name(x, double(y)); }
__DAMO_UNARY_LIST(__DAMO_UNARY)
__DAMO_BINARY_LIST(__DAMO_BINARY)
#undef __DAMO_UNARY
#undef __DAMO_BINARY
#undef __DAMO_UNARY_LIST
#undef __DAMO_BINARY_LIST

inline float pow(float x, int n) { return powf(x, float(n)); }
inline double pow(double x, int n) { return pow(x, double(n)); }
#define __DAMO_FROM_INT(f) inline double f(int x) { return f(double(x)); }
__DAMO_FROM_INT(exp) __DAMO_FROM_INT(log) __DAMO_FROM_INT(sqrt) __DAMO_FROM_INT(sin) __DAMO_FROM_INT(cos)
__DAMO_FROM_INT(floor) __DAMO_FROM_INT(ceil) __DAMO_FROM_INT(tanh) __DAMO_FROM_INT(fabs)
#undef __DAMO_FROM_INT

inline float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float rsqrt(float x) { return 1.0f / sqrtf(x); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float exp10f(float x) { return powf(10.0f, x); }
inline double exp10(double x) { return pow(10.0, x); }
inline float normcdff(float x) { return 0.5f * erfcf(-0.70710678118654752f * x); }
inline double normcdf(double x) { return 0.5 * erfc(-0.70710678118654752440 * x); }
inline void sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(double x, double* s, double* c) { *s = sin(x), *c = cos(x); }
inline float fdividef(float x, float y) { return x / y; }

#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

inline int abs(int x) { return x < 0 ? -x : x; }
inline long abs(long x) { return x < 0 ? -x : x; }
inline long long abs(long long x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }

#define __DAMO_MINMAX(T)                                   \
  inline T min(T a, T b) { return b < a ? b : a; }       \
  inline T max(T a, T b) { return a < b ? b : a; }
__DAMO_MINMAX(int) __DAMO_MINMAX(unsigned) __DAMO_MINMAX(long) __DAMO_MINMAX(unsigned long)
__DAMO_MINMAX(long long) __DAMO_MINMAX(unsigned long long)
#undef __DAMO_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline unsigned min(unsigned a, int b) { return min(a, unsigned(b)); }
inline unsigned min(int a, unsigned b) { return min(unsigned(a), b); }
inline unsigned max(unsigned a, int b) { return max(a, unsigned(b)); }
inline unsigned max(int a, unsigned b) { return max(unsigned(a), b); }
inline double min(float a, double b) { return fmin(double(a), b); }
inline double min(double a, float b) { return fmin(a, double(b)); }
inline double max(float a, double b) { return fmax(double(a), b); }
inline double max(double a, float b) { return fmax(a, double(b)); }

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return exp10f(x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __saturatef(float x) { return fminf(fmaxf(x, 0.0f), 1.0f); }
inline float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frcp_rn(float x) { return 1.0f / x; }
#pragma clang fp contract(off)
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdiv_rn(float a, float b) { return a / b; }
inline double __dadd_rn(double a, double b) { return a + b; }
inline double __dmul_rn(double a, double b) { return a * b; }
#pragma clang fp contract(fast)

inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
inline int __float2int_rn(float x) { return int(rintf(x)); }
inline int __float2int_rz(float x) { return int(x); }
inline int __float2int_rd(float x) { return int(floorf(x)); }
inline int __float2int_ru(float x) { return int(ceilf(x)); }
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __brev(unsigned x) { return __builtin_bitreverse32(x); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long)a * b >> 32); }
inline int __mul24(int a, int b) { return a * b; }
template <class T> inline T __ldg(const T* p) { return *p; }
template <class T> inline T __ldcg(const T* p) { return *p; }
template <class T> inline T __ldcs(const T* p) { return *p; }
template <class T> inline void __stcs(T* p, T value) { *p = value; }

// ---- half and bfloat16 --------------------------------------------------------------------------------------------
using __half = damo::half;
using half = damo::half;
struct __half2 { half x, y; };
using half2 = __half2;
inline half __float2half(float x) { return half(x); }
inline half __float2half_rn(float x) { return half(x); }
inline half __double2half(double x) { return half(x); }
inline float __half2float(half x) { return float(x); }
inline half __int2half_rn(int x) { return half(float(x)); }
inline half __hadd(half a, half b) { return a + b; }
inline half __hsub(half a, half b) { return a - b; }
inline half __hmul(half a, half b) { return a * b; }
inline half __hdiv(half a, half b) { return a / b; }
inline half __hfma(half a, half b, half c) { return half(__builtin_fma(double(a), double(b), double(c))); }
inline half __hneg(half a) { return -a; }
inline bool __hlt(half a, half b) { return a < b; }
inline bool __hgt(half a, half b) { return a > b; }
inline bool __heq(half a, half b) { return a == b; }
inline half hexp(half x) { return half(expf(float(x))); }
inline half hlog(half x) { return half(logf(float(x))); }
inline half hsqrt(half x) { return half(sqrtf(float(x))); }

using __nv_bfloat16 = damo::bfloat16;
using nv_bfloat16 = damo::bfloat16;
struct __nv_bfloat162 { __nv_bfloat16 x, y; };
using nv_bfloat162 = __nv_bfloat162;
inline __nv_bfloat16 __float2bfloat16(float x) { return __nv_bfloat16(x); }
inline __nv_bfloat16 __float2bfloat16_rn(float x) { return __nv_bfloat16(x); }
inline float __bfloat162float(__nv_bfloat16 x) { return float(x); }
#pragma clang force_cuda_host_device end

// ---- atomics ------------------------------------------------------------------------------------------------------
#define __DAMO_ATOMIC(T)                                                                                          \
  __device__ inline T atomicAdd(T* p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicExch(T* p, T v) { T old; __atomic_exchange(p, &v, &old, __ATOMIC_RELAXED); return old; }
__DAMO_ATOMIC(int) __DAMO_ATOMIC(unsigned) __DAMO_ATOMIC(unsigned long) __DAMO_ATOMIC(unsigned long long)
__DAMO_ATOMIC(float) __DAMO_ATOMIC(double)
#undef __DAMO_ATOMIC
#define __DAMO_ATOMIC(T)                                                                                          \
  __device__ inline T atomicSub(T* p, T v) { return __atomic_fetch_sub(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicMin(T* p, T v) { return __atomic_fetch_min(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicMax(T* p, T v) { return __atomic_fetch_max(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicAnd(T* p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicOr(T* p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_RELAXED); }                 \
  __device__ inline T atomicXor(T* p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_RELAXED); }               \
  __device__ inline T atomicCAS(T* p, T expected, T v) {                                                        \
    __atomic_compare_exchange_n(p, &expected, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                    \
    return expected;                                                                                            \
  }
__DAMO_ATOMIC(int) __DAMO_ATOMIC(unsigned) __DAMO_ATOMIC(unsigned long) __DAMO_ATOMIC(unsigned long long)
__DAMO_ATOMIC(long long)
#undef __DAMO_ATOMIC
__device__ inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__device__ inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
