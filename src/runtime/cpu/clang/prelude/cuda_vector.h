// CUDA's vector types: float4 and its family with CUDA's alignments (a vector of 3 has that of its elements and no
// padding), their make_ functions, dim3, and what tells a kernel of pitched memory.
#pragma once

#define __DAMO_VECTOR(T, name, a2, a4)                                                              \
  struct name##1 { T x; };                                                                          \
  struct __attribute__((aligned(a2))) name##2 { T x, y; };                                          \
  struct name##3 { T x, y, z; };                                                                    \
  struct __attribute__((aligned(a4))) name##4 { T x, y, z, w; };                                    \
  __host__ __device__ constexpr name##1 make_##name##1(T x) { return {x}; }                         \
  __host__ __device__ constexpr name##2 make_##name##2(T x, T y) { return {x, y}; }                 \
  __host__ __device__ constexpr name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }         \
  __host__ __device__ constexpr name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
__DAMO_VECTOR(signed char, char, 2, 4) __DAMO_VECTOR(unsigned char, uchar, 2, 4)
__DAMO_VECTOR(short, short, 4, 8) __DAMO_VECTOR(unsigned short, ushort, 4, 8)
__DAMO_VECTOR(int, int, 8, 16) __DAMO_VECTOR(unsigned int, uint, 8, 16) __DAMO_VECTOR(float, float, 8, 16)

// Of 8 bytes an element. CUDA 13's names of the 32-byte vectors say their alignment.
#define __DAMO_WIDE_VECTOR(T, name)                                                                           \
  __DAMO_VECTOR(T, name, 16, 16)                                                                              \
  using name##4_16a = name##4;                                                                                \
  struct __attribute__((aligned(32))) name##4_32a { T x, y, z, w; };                                          \
  __host__ __device__ constexpr name##4_16a make_##name##4_16a(T x, T y, T z, T w) { return {x, y, z, w}; }   \
  __host__ __device__ constexpr name##4_32a make_##name##4_32a(T x, T y, T z, T w) { return {x, y, z, w}; }
__DAMO_WIDE_VECTOR(long, long) __DAMO_WIDE_VECTOR(unsigned long, ulong) __DAMO_WIDE_VECTOR(double, double)
__DAMO_WIDE_VECTOR(long long, longlong) __DAMO_WIDE_VECTOR(unsigned long long, ulonglong)

struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
  __host__ __device__ constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  __host__ __device__ constexpr operator uint3() const { return uint3{x, y, z}; }
};
struct cudaPitchedPtr { void* ptr; size_t pitch, xsize, ysize; };
struct cudaExtent { size_t width, height, depth; };
struct cudaPos { size_t x, y, z; };
