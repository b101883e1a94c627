// ParameterType: what a kernel declares for one of its parameters, as the compiler told. Both compilers' words for a type
// are read into the same few kinds, against which a launch checks its arguments. See tests/runtime/module/parameter_type_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <damo/dtype.hpp>

namespace damo {

/// What a pointer points at or an array holds.
struct ElementType {
  enum class Kind : std::uint8_t {
    kAny,     ///< void or bytes: takes everything
    kNumber,  ///< a dtype
    kOther    ///< a struct, a pointer, ...: takes the like, and bytes
  };
  Kind kind = Kind::kAny;
  DType dtype = uint8;
  int lanes = 1;  ///< of a vector type: float4 has 4 of float32

  template <class T>
  static constexpr ElementType of() {
    using V = std::remove_cv_t<T>;
    if constexpr (std::is_void_v<V> || std::is_same_v<V, char> || std::is_same_v<V, unsigned char> ||
                  std::is_same_v<V, std::byte>) {
      return {};
    } else if constexpr (is_small_float<V> || (std::is_arithmetic_v<V> && sizeof(V) <= 8)) {
      return {Kind::kNumber, dtype_of<V>()};
    } else {
      return {Kind::kOther};
    }
  }
  static constexpr ElementType of(DType dtype) { return {Kind::kNumber, dtype}; }
  /// Whether a pointer to an element of this type takes the address of elements of type given.
  constexpr bool takes(const ElementType& given) const {
    if (kind == Kind::kAny || given.kind == Kind::kAny) return true;
    if (kind == Kind::kNumber && given.kind == Kind::kNumber) return dtype == given.dtype;
    if (given.kind == Kind::kNumber) return given.dtype == uint8 || given.dtype == int8;  // a struct's bytes
    return kind == Kind::kOther || lanes > 1;                                             // a struct as a vector type
  }
};

struct ParameterType {
  enum class Kind : std::uint8_t {
    kUnknown,  ///< nothing is known but bytes
    kNumber,   ///< of element.dtype
    kPointer,  ///< to element
    kStrided,  ///< damo::Strided<element, rank>
    kOther     ///< a struct or an enum
  };
  Kind kind = Kind::kUnknown;
  ElementType element;
  bool is_const = false;  ///< the pointee, or Strided's element
  int rank = 0;
  std::size_t bytes = 0;  ///< 0: unknown
  std::string text;       ///< "const float *"; empty if unknown

  /// Reads a type as Clang prints it, or as a C++ demangler does. bytes 0: as the type itself says.
  static ParameterType parse(std::string_view text, std::size_t bytes = 0);
  static ParameterType of_bytes(std::size_t bytes);
};

/// "const float *, int" -> its parts; commas within brackets part nothing. Empty text or "void": none.
std::vector<std::string> split_parameters(std::string_view text);

}  // namespace damo
