// Elements of Arrays by positions, at once: what ops/indexing.hpp has for Variables, of which that page is the manual too; take is in array_shape.hpp. See
// tests/ops/eager/softmax_test.cpp.
#pragma once
#include <cstdint>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>

namespace damo {

Array take_along_axis(const Array& x, const Array& positions, int axis);
/// A new Array; x stays.
Array put_along_axis(const Array& x, const Array& positions, const ArrayOperand& values, int axis);
Array one_hot(const Array& positions, std::int64_t count, DType dtype = float32);

}  // namespace damo
