// Embedded text, first in every translation unit for the CPU but for number_types.h: no include, no system header.
// Names live in namespace damo; generated code says "using namespace damo", CUDA C sees none of them unasked.
#pragma once

namespace damo {

// The mirror of damo::cpu_backend::LaunchFrame (kernel_abi.hpp): same members, same order.
struct LaunchFrame {
  u32 grid[3];
  u32 block[3];
  u32 shared_bytes;
  u32 reserved;
  void* shared;
  void* report;
};
static_assert(sizeof(LaunchFrame) == 48);

// IEEE binary16. Arithmetic is float's, rounded to nearest even when stored (Clang promotes where the CPU has no
// half arithmetic, and F16C or AVX-512 converts whole vectors).
using half = _Float16;
using f16 = half;

// A number as an element of another type: convert.h has it.
template <class To, class From>
static inline __attribute__((always_inline)) To convert(From x);

template <bool, class T>
struct If {};
template <class T>
struct If<true, T> {
  using type = T;
};

// bfloat16: storage of 16 bits, every operation in float. The conversion is integer arithmetic, because the AVX-512
// instruction flushes denormals, and because this form vectorises on every CPU.
struct bfloat16 {
  u16 bits;

  bfloat16() = default;
  constexpr bfloat16(float value) : bits(round(__builtin_bit_cast(u32, value))) {}
  // Of a double or an integer, which are not rounded to float on the way.
  template <class T, typename If<__is_arithmetic(T) && sizeof(T) <= 8, int>::type = 0>
  bfloat16(T value) : bits(convert<bfloat16>(value).bits) {}
  constexpr operator float() const { return __builtin_bit_cast(float, u32(bits) << 16); }

  // Not constexpr, which in C++11 would make them const.
  bfloat16& operator+=(float other) { return *this = float(*this) + other; }
  bfloat16& operator-=(float other) { return *this = float(*this) - other; }
  bfloat16& operator*=(float other) { return *this = float(*this) * other; }
  bfloat16& operator/=(float other) { return *this = float(*this) / other; }

 private:
  // To nearest, ties to even; a NaN stays a NaN and becomes quiet.
  static constexpr u16 round(u32 word) {
    const u32 rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
    const u32 quiet = (word >> 16) | 0x40u;
    return u16((word & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
  }
};
using bf16 = bfloat16;
static_assert(sizeof(bfloat16) == 2);

}  // namespace damo
