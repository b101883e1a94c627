#include <damo/dtype.hpp>

#include <damo/error.hpp>

#include <algorithm>
#include <iterator>
#include <string>

namespace damo {
namespace {

constexpr std::string_view kNames[] = {"bool",   "int8",        "int16",       "int32",   "int64",    "uint8",   "uint16", "uint32",
                                       "uint64", "float8_e4m3", "float8_e5m2", "float16", "bfloat16", "float32", "float64"};
static_assert(std::size(kNames) == std::size(kAllDTypes));

/// The signed dtype of that many bytes; beyond 8 there is none, and float64 stands in, as in NumPy.
DType signed_of(std::size_t bytes) {
  return bytes == 1 ? int8 : bytes == 2 ? int16 : bytes == 4 ? int32 : bytes == 8 ? int64 : float64;
}

DType promote_integers(DType a, DType b) {
  if (is_signed(a) == is_signed(b)) return itemsize(a) >= itemsize(b) ? a : b;
  const DType with_sign = is_signed(a) ? a : b, without = is_signed(a) ? b : a;
  return itemsize(with_sign) > itemsize(without) ? with_sign : signed_of(2 * itemsize(without));
}

DType promote_floats(DType a, DType b) {
  if (a == b) return a;
  return is_half(a) && is_half(b) ? float32 : std::max(a, b);
}

/// A strong dtype beside a weak number of a higher kind: what NumPy takes for a Python number of that kind.
DType default_of(Kind kind) { return kind == Kind::kBool ? bool_ : kind == Kind::kInteger ? int64 : float64; }

}  // namespace

std::string_view name(DType dtype) { return kNames[static_cast<std::size_t>(dtype)]; }

DType dtype_named(std::string_view name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found != std::end(kNames)) return kAllDTypes[found - std::begin(kNames)];
  std::string names;
  for (const std::string_view known : kNames) names += (names.empty() ? "" : ", ") + std::string(known);
  throw TypeError("dtype: there is none named \"" + std::string(name) + "\"", "use one of " + names);
}

DType promote(DType a, DType b) {
  if (a == b || b == bool_) return a;
  if (a == bool_) return b;
  if (is_float8(a) || is_float8(b)) {
    throw TypeError(std::string(name(a)) + " and " + std::string(name(b)) + " have no common dtype: " + std::string(name(is_float8(a) ? a : b)) + " is never promoted", "cast it to float32 first");
  }
  if (is_integer(a) && is_integer(b)) return promote_integers(a, b);
  if (is_floating(a) && is_floating(b)) return promote_floats(a, b);
  const DType integer = is_integer(a) ? a : b, floating = is_integer(a) ? b : a;
  // One byte fits every floating dtype, so bfloat16 keeps it as float16 does.
  return itemsize(integer) == 1 ? floating : promote_floats(floating_of(integer), floating);
}

DType result_type(std::span<const Promotable> operands) {
  bool any_strong = false;
  DType strong = bool_;
  Kind weak = Kind::kBool;
  // bool is taken in by all, so it begins the fold. Floating dtypes go first, then each integer meets a floating one
  // and not another integer: int8, uint8, float16 give float16, in any order, as in NumPy.
  for (const bool floating : {true, false}) {
    for (const Promotable& operand : operands) {
      if (operand.weak || is_floating(operand.dtype) != floating) continue;
      strong = promote(strong, operand.dtype);
      any_strong = true;
    }
  }
  for (const Promotable& operand : operands) {
    if (operand.weak) weak = std::max(weak, kind(operand.dtype));
  }
  if (!any_strong) return weak == Kind::kFloating ? float32 : default_of(weak);
  return weak > kind(strong) ? default_of(weak) : strong;
}

DType floating_of(DType dtype) {
  if (is_floating(dtype)) return dtype;
  return itemsize(dtype) == 1 ? float16 : itemsize(dtype) == 2 ? float32 : float64;
}

}  // namespace damo
