// DType: what one element of an array is. Promotion follows NumPy 2 (NEP 50), written down in docs/promotion.md:
// a C++ number beside a Variable is weak, it takes the Variable's dtype as long as its kind is not higher.
// bfloat16 beside an integer behaves as float16 does; float16 with bfloat16 gives float32. float8_e4m3 and float8_e5m2 (float8.hpp) store
// numbers: what moves elements and matrix products take them, nothing promotes them, arithmetic refuses them.
// See tests/graph/base/dtype_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <damo/float8.hpp>
#include <damo/half.hpp>

namespace damo {

enum class DType : std::uint8_t {
  bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8_e4m3, float8_e5m2, float16, bfloat16, float32, float64
};
using enum DType;

inline constexpr DType kAllDTypes[] = {bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float8_e4m3, float8_e5m2, float16, bfloat16, float32, float64};

/// In the order of promotion: a kind to the right takes in the ones to its left.
enum class Kind : std::uint8_t { kBool, kInteger, kFloating };

/// "float32".
std::string_view name(DType dtype);
/// The dtype of that name; throws TypeError listing the names there are.
DType dtype_named(std::string_view name);

constexpr std::size_t itemsize(DType dtype) {
  constexpr std::uint8_t bytes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 1, 2, 2, 4, 8};
  return bytes[static_cast<int>(dtype)];
}
constexpr Kind kind(DType dtype) {
  return dtype == bool_ ? Kind::kBool : dtype < float8_e4m3 ? Kind::kInteger : Kind::kFloating;
}
constexpr bool is_floating(DType dtype) { return dtype >= float8_e4m3; }
constexpr bool is_integer(DType dtype) { return dtype > bool_ && dtype < float8_e4m3; }
constexpr bool is_signed(DType dtype) { return is_floating(dtype) || (dtype >= int8 && dtype <= int64); }
/// Computed in float32, stored in 16 bits.
constexpr bool is_half(DType dtype) { return dtype == float16 || dtype == bfloat16; }
/// Stored in 8 bits; converted before anything is computed but matrix products.
constexpr bool is_float8(DType dtype) { return dtype == float8_e4m3 || dtype == float8_e5m2; }
/// What a kernel holds in a float and stores in fewer bits.
constexpr bool is_narrow(DType dtype) { return is_half(dtype) || is_float8(dtype); }

/// The dtype that holds both, by NumPy's table: promote(int32, float32) is float64, promote(uint64, int8) is float64.
/// float8_e4m3 and float8_e5m2 are promoted by nothing but bool: TypeError.
DType promote(DType a, DType b);

/// One operand of a promotion.
struct Promotable {
  DType dtype;
  bool weak = false;  ///< a C++ number: bool, int64 or float64 stands for its kind only
};
/// The dtype of an operation on these. All weak: bool, int64 or float32 (the library's default float). TypeError as promote.
DType result_type(std::span<const Promotable> operands);

/// The floating dtype in which a function of one integer is computed: int8, uint8, bool -> float16;
/// 16 bits -> float32; 32 and 64 bits -> float64; a floating dtype stays.
DType floating_of(DType dtype);

/// The host's types of floats that C++ has not.
template <class T>
inline constexpr bool is_small_float = std::is_same_v<T, Half> || std::is_same_v<T, BFloat16> || std::is_same_v<T, Float8E4M3> || std::is_same_v<T, Float8E5M2>;

template <class T>
constexpr DType dtype_of() {
  using V = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<V, bool>) return bool_;
  else if constexpr (std::is_same_v<V, Float8E4M3>) return float8_e4m3;
  else if constexpr (std::is_same_v<V, Float8E5M2>) return float8_e5m2;
  else if constexpr (std::is_same_v<V, Half>) return float16;
  else if constexpr (std::is_same_v<V, BFloat16>) return bfloat16;
  else if constexpr (std::is_same_v<V, float>) return float32;
  else if constexpr (std::is_same_v<V, double>) return float64;
  else {
    static_assert(std::is_integral_v<V> && sizeof(V) <= 8, "no dtype for this C++ type");
    constexpr DType with_sign[] = {int8, int16, int32, int64}, without[] = {uint8, uint16, uint32, uint64};
    constexpr int log2 = sizeof(V) == 1 ? 0 : sizeof(V) == 2 ? 1 : sizeof(V) == 4 ? 2 : 3;
    return std::is_signed_v<V> ? with_sign[log2] : without[log2];
  }
}

/// Calls visitor with a value-initialised T of the host type: visit(float16, [](auto zero) { using T = decltype(zero); }).
template <class Visitor>
decltype(auto) visit(DType dtype, Visitor&& visitor) {
  switch (dtype) {
    case bool_: return visitor(bool{});
    case int8: return visitor(std::int8_t{});
    case int16: return visitor(std::int16_t{});
    case int32: return visitor(std::int32_t{});
    case int64: return visitor(std::int64_t{});
    case uint8: return visitor(std::uint8_t{});
    case uint16: return visitor(std::uint16_t{});
    case uint32: return visitor(std::uint32_t{});
    case uint64: return visitor(std::uint64_t{});
    case float8_e4m3: return visitor(Float8E4M3{});
    case float8_e5m2: return visitor(Float8E5M2{});
    case float16: return visitor(Half{});
    case bfloat16: return visitor(BFloat16{});
    case float32: return visitor(float{});
    default: return visitor(double{});
  }
}

}  // namespace damo
