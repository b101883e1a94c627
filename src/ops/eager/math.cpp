// The built-in rows as functions of Arrays.
#include <damo/array_math.hpp>

#include "ops/eager/overlap.hpp"
#include "ops/rows.hpp"

namespace damo {

#define DAMO_ROW1(row, ...) \
  Array row(const ArrayOperand& x) { return apply_elementwise(builtin_row(BuiltinRow::row), {x}); }
#define DAMO_ROW2(row, ...) \
  Array row(const ArrayOperand& x, const ArrayOperand& y) { return apply_elementwise(builtin_row(BuiltinRow::row), {x, y}); }
#define DAMO_ROW3(row, ...)                                                        \
  Array row(const ArrayOperand& x, const ArrayOperand& y, const ArrayOperand& z) { \
    return apply_elementwise(builtin_row(BuiltinRow::row), {x, y, z});             \
  }
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

namespace {

const Array& in_place(BuiltinRow row, const Array& x, const ArrayOperand& y) {
  apply_elementwise(builtin_row(row), {x, y}, x);
  return x;
}

}  // namespace

const Array& operator+=(const Array& x, const ArrayOperand& y) { return in_place(BuiltinRow::add, x, y); }
const Array& operator-=(const Array& x, const ArrayOperand& y) { return in_place(BuiltinRow::sub, x, y); }
const Array& operator*=(const Array& x, const ArrayOperand& y) { return in_place(BuiltinRow::mul, x, y); }
const Array& operator/=(const Array& x, const ArrayOperand& y) { return in_place(BuiltinRow::true_div, x, y); }
const Array& operator%=(const Array& x, const ArrayOperand& y) { return in_place(BuiltinRow::mod, x, y); }

Array astype(const Array& x, DType dtype) {
  if (!x) throw TypeError("astype: the Array is empty", "check the Array with if (array)");
  return packed_copy(x, dtype);
}

void assign(const Array& to, const ArrayOperand& from) {
  if (!to) throw TypeError("assign: the Array on the left is empty", "make it before, by Array::empty(shape, dtype, device)");
  check_writable("assign", to);
  if (from.is_number()) {
    const Array one = Array::full(Shape(), from.number(), to.dtype(), to.device());
    return copy_into(to, one);
  }
  const Array moved = from.array().to(to.device()).broadcast_to(to.shape());
  copy_into(to, would_overwrite(to, moved) ? packed_copy(moved) : moved);
}

}  // namespace damo
