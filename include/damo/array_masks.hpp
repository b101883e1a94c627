// Elements of Arrays by an Array of bools, at once: what ops/masks.hpp has for Variables. Each waits for the device to count what is true. New
// arrays in C order. See tests/function/masks_test.cpp.
#pragma once
#include <vector>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>

namespace damo {

std::vector<Array> nonzero(const Array& x);
Array flatnonzero(const Array& x);
inline std::vector<Array> where(const Array& condition) { return nonzero(condition); }
Array subtensor(const Array& x, const Array& mask);
Array set_subtensor(const Array& x, const Array& mask, const ArrayOperand& y);
Array inc_subtensor(const Array& x, const Array& mask, const ArrayOperand& y);

}  // namespace damo
