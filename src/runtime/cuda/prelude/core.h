// The types of generated CUDA kernels behind number_types.h, under the names that the CPU's prelude has too. For NVRTC (-minimal
// -default-device), so it includes nothing and every function is a device function.
#pragma once

namespace damo {

// IEEE binary16: storage of 16 bits, every operation in float.
struct half {
  u16 bits;

  half() = default;
  __device__ __forceinline__ half(float value) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value)); }
  __device__ __forceinline__ operator float() const {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
  }
};
using f16 = half;

// bfloat16: storage of 16 bits, every operation in float. Integer arithmetic where the GPU has no conversion.
struct bfloat16 {
  u16 bits;

  bfloat16() = default;
  __device__ __forceinline__ bfloat16(float value) {
#if __CUDA_ARCH__ >= 800
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
#else
    const u32 word = __float_as_uint(value);
    const u32 rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    bits = u16(value != value ? 0x7fffu : rounded);
#endif
  }
  __device__ __forceinline__ operator float() const { return __uint_as_float(u32(bits) << 16); }
};
using bf16 = bfloat16;
static_assert(sizeof(half) == 2 && sizeof(bfloat16) == 2, "stored in arrays");

}  // namespace damo
