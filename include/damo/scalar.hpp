// Scalar: one value of any dtype, as a constant holds it; and what a C++ number beside a Variable or an Array stands for.
// See tests/graph/base/scalar_test.cpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <string>
#include <type_traits>

#include <damo/dtype.hpp>

namespace damo {

class Scalar {
 public:
  Scalar() = default;
  template <class T>
    requires(std::is_arithmetic_v<T> || is_small_float<T>)
  Scalar(T value) : dtype_(dtype_of<T>()) {
    if constexpr (std::is_same_v<T, bool> || std::is_integral_v<T>) bits_ = static_cast<std::uint64_t>(value);
    else number_ = static_cast<double>(value);
  }

  DType dtype() const { return dtype_; }
  double as_double() const {
    if (is_floating(dtype_)) return number_;
    return is_signed(dtype_) ? static_cast<double>(static_cast<std::int64_t>(bits_)) : static_cast<double>(bits_);
  }
  /// A floating value as cast(int64) has it; uint64 wraps.
  std::int64_t as_int() const;
  /// The value in another dtype, as ops/cast.hpp says.
  Scalar cast(DType dtype) const;
  /// False for an integer that dtype cannot hold (300 in int8) and for a floating value in an integer dtype: a weak
  /// number that does not fit is a TypeError, as in NumPy 2.
  bool fits(DType dtype) const;
  /// Writes itemsize(dtype()) bytes.
  void store(void* to) const;
  static Scalar load(DType dtype, const void* from);

 private:
  DType dtype_ = float32;
  std::uint64_t bits_ = 0;  // integers and bool, sign-extended
  double number_ = 0.0;     // floating dtypes
};

/// A C++ number as a weak one (dtype.hpp): bool, int64, uint64 for an unsigned type of 64 bits, or float64.
template <class T>
  requires std::is_arithmetic_v<T>
Scalar weak_number(T number) {
  if constexpr (std::is_same_v<T, bool>) return number;
  else if constexpr (std::is_floating_point_v<T>) return static_cast<double>(number);
  else if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8) return static_cast<std::uint64_t>(number);
  else return static_cast<std::int64_t>(number);
}

/// What !x of a Variable or an Array gives: whether it is empty. Not a bool, which ops would take for a number: where(!mask, x, y) does not compile, logical_not(mask) is
/// what was meant.
struct IsEmpty {
  bool value = false;
  constexpr operator bool() const { return value; }
};

/// Shortest text that reads back as the same value: "1.5", "-3", "true", "inf".
std::string to_string(const Scalar& value);

}  // namespace damo
