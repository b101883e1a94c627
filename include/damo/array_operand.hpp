// ArrayOperand: an Array or a C++ number, as arithmetic on arrays takes it. A number is weak (dtype.hpp): beside a
// float32 Array 2.5 is a float32, beside an int8 Array 3 is an int8. It lives as long as the call that it is made for.
#pragma once
#include <cstdint>
#include <type_traits>

#include <damo/array.hpp>
#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include <damo/scalar.hpp>

namespace damo {

class ArrayOperand {
 public:
  /// Throws TypeError for an empty Array.
  ArrayOperand(const Array& array) : array_(&array) {
    if (!array) refuse_empty();
  }
  template <class T>
  requires std::is_arithmetic_v<T> ArrayOperand(T number) : number_(weak_number(number)) {}

  bool is_number() const { return array_ == nullptr; }
  const Array& array() const { return *array_; }
  const Scalar& number() const { return number_; }
  /// As an operand of a promotion.
  Promotable promotable() const {
    return array_ ? Promotable{array_->dtype(), false} : Promotable{number_.dtype(), true};
  }
  /// Where it was written; not known.
  SourceLine where() const { return {}; }

 private:
  [[noreturn]] static void refuse_empty();

  const Array* array_ = nullptr;
  Scalar number_;
};

}  // namespace damo
