#include <damo/scalar.hpp>

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace damo {
namespace {

/// Towards zero, the nearest that T can hold; NaN gives 0. The dtype's greatest value may not be a double: the next
/// power of two is one.
template <class T>
T integer_of(double value) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(Limits::min())) return Limits::min();
  if (value >= std::ldexp(1.0, Limits::digits)) return Limits::max();
  return static_cast<T>(value);
}

template <class T>
std::string shortest(T value) {
  char text[32];
  return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
}

/// The fewest digits that read back as the same bits.
template <class T>
std::string shortest_small(T value) {
  const float wide = value;
  for (int digits = 1; digits < 9; ++digits) {
    char text[32];
    char* const end = std::to_chars(text, text + sizeof text, wide, std::chars_format::general, digits).ptr;
    double read = 0;
    std::from_chars(text, end, read);
    if (T(read).bits == value.bits) return std::string(text, end);
  }
  return shortest(wide);
}

}  // namespace

std::int64_t Scalar::as_int() const {
  return is_floating(dtype_) ? integer_of<std::int64_t>(number_) : static_cast<std::int64_t>(bits_);
}

Scalar Scalar::cast(DType dtype) const {
  return visit(dtype, [this](auto zero) -> Scalar {
    using T = decltype(zero);
    const bool floating = is_floating(dtype_);
    if constexpr (std::is_same_v<T, bool>)
      return floating ? number_ != 0.0 : bits_ != 0;
    else if constexpr (std::is_integral_v<T>)
      return floating ? integer_of<T>(number_) : static_cast<T>(bits_);
    else if (floating)
      return static_cast<T>(number_);
    else
      return is_signed(dtype_) ? static_cast<T>(static_cast<std::int64_t>(bits_)) : static_cast<T>(bits_);
  });
}

bool Scalar::fits(DType dtype) const {
  if (is_floating(dtype) || is_floating(dtype_)) return is_floating(dtype);
  const Scalar there = cast(dtype);
  const bool negative = is_signed(dtype_) && as_int() < 0;
  return there.bits_ == bits_ && (!negative || is_signed(dtype)) &&
         (negative || !is_signed(dtype) || there.as_int() >= 0);
}

void Scalar::store(void* to) const {
  visit(dtype_, [this, to](auto zero) {
    using T = decltype(zero);
    T value;
    if constexpr (std::is_same_v<T, bool>)
      value = bits_ != 0;
    else if constexpr (std::is_integral_v<T>)
      value = static_cast<T>(bits_);
    else if constexpr (is_small_float<T>)
      value = T(static_cast<float>(number_));
    else
      value = static_cast<T>(number_);
    std::memcpy(to, &value, sizeof value);
  });
}

Scalar Scalar::load(DType dtype, const void* from) {
  return visit(dtype, [from](auto zero) -> Scalar {
    if constexpr (std::is_same_v<decltype(zero), bool>) return *static_cast<const unsigned char*>(from) != 0;
    std::memcpy(&zero, from, sizeof zero);
    return zero;
  });
}

std::string to_string(const Scalar& value) {
  if (is_floating(value.dtype()) && std::isnan(value.as_double())) return "nan";
  switch (value.dtype()) {
    case bool_:
      return value.as_int() ? "true" : "false";
    case uint64:
      return shortest(static_cast<std::uint64_t>(value.as_int()));
    case float8_e4m3:
      return shortest_small(Float8E4M3(static_cast<float>(value.as_double())));
    case float8_e5m2:
      return shortest_small(Float8E5M2(static_cast<float>(value.as_double())));
    case float16:
      return shortest_small(Half(static_cast<float>(value.as_double())));
    case bfloat16:
      return shortest_small(BFloat16(static_cast<float>(value.as_double())));
    case float32:
      return shortest(static_cast<float>(value.as_double()));
    case float64:
      return shortest(value.as_double());
    default:
      return shortest(value.as_int());
  }
}

}  // namespace damo
