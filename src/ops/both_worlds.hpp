// What functions that are made of others need beside them where graphs and arrays differ: one text gives the function of Variables and that of Arrays, whose
// parts have the same names. Nodes get the user's line by a BuiltAt around the call (graph/user_line.hpp).
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <damo/array_create.hpp>
#include <damo/array_math.hpp>
#include <damo/array_operand.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/create.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "graph/user_line.hpp"

namespace damo {

struct OfVariables {
  using Value = Variable;

  static const Shape& dims(const Variable& x) { return x.dims(); }
  static Variable converted(const Variable& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }
  /// int64: each element's place along the axis, of a shape that broadcasts to x's.
  static Variable places(const Variable& x, int axis) { return index_along(x, axis); }
  /// int64: 0, 1, ... below the extent of the axis, of rank 1.
  static Variable range(const Variable& x, int axis) { return arange(squeeze(extent(x, axis), 0), int64); }
  /// int64 (1,)
  static Variable extent(const Variable& x, int axis) { return subtensor(shape_of(x), {{axis, axis + 1}}); }
  /// int64 (count,): 0, 1, ...
  static Variable steps(std::int64_t count, const Variable&) { return symbolic::arange(0, count, 1, int64); }
  static Variable numbers(const std::vector<std::int64_t>& values, const Variable&) {
    ConstantData data{{int64, {static_cast<std::int64_t>(values.size())}}, std::vector<std::byte>(values.size() * sizeof(std::int64_t))};
    for (std::size_t i = 0; i < values.size(); ++i) Scalar(values[i]).store(data.bytes.data() + i * sizeof(std::int64_t));
    return constant(std::move(data));
  }
};

struct OfArrays {
  using Value = Array;

  static const Shape& dims(const Array& x) { return x.shape(); }
  static Array converted(const Array& x, DType dtype) { return x.dtype() == dtype ? x : astype(x, dtype); }
  static Array places(const Array& x, int given) {
    const int axis = given < 0 ? given + x.rank() : given;
    Shape shape = Shape::filled(x.rank(), 1);
    shape[axis] = x.shape()[axis];
    return arange(0, shape[axis], 1, int64, x.device()).reshape(shape);
  }
  static Array range(const Array& x, int axis) { return arange(0, x.shape()[axis], 1, int64, x.device()); }
  static Array extent(const Array& x, int axis) { return numbers({x.shape()[axis]}, x); }
  static Array steps(std::int64_t count, const Array& beside) { return arange(0, count, 1, int64, beside.device()); }
  static Array numbers(const std::vector<std::int64_t>& values, const Array& beside) { return Array::from(values, beside.device()); }
};

inline void append_text(std::vector<std::string>& texts, const Array& operand) {
  if (operand) texts.push_back(describe(operand));
}
inline void append_text(std::vector<std::string>& texts, const ArrayOperand& operand) {
  if (!operand.is_number()) append_text(texts, operand.array());
}

template <class Operand>
void append_text(std::vector<std::string>& texts, std::span<const Operand> operands) {
  for (const Operand& operand : operands) append_text(texts, operand);
}

/// build(), whose errors tell of the function that was called with these Arrays, not of one that it is made of.
template <class Build, class... Operands>
auto asked_at_once(std::string_view function, const Build& build, const Operands&... operands) {
  try {
    return build();
  } catch (Error& error) {
    std::vector<std::string> given;
    (append_text(given, operands), ...);
    add_asked(error, function, std::move(given), SourceLine());
    throw;
  }
}

/// Throws TypeError for an empty Array; a Variable's Operand has looked.
inline const Array& given_array(const char* name, const Array& x) {
  if (!x) throw TypeError(std::string(name) + ": an operand is an empty Array", "check the Array with if (array)");
  return x;
}
/// The value of an operand; a number is a constant of its own dtype.
inline Variable given_variable(const Operand& x) { return x.as(x.is_number() ? result_type(std::vector{x.promotable()}) : x.promotable().dtype); }

}  // namespace damo
