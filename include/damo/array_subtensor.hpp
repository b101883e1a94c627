// Parts of Arrays by position, at once: what ops/subtensor.hpp has for Variables, of which that page is the manual too. Tensors among the indices stretch as
// NumPy's do, where an extent is 1. An IndexError is thrown at once on a CPU, by whoever waits for the device on a GPU; a mask waits for the device. See
// tests/function/advanced_indexing_test.cpp.
#pragma once
#include <initializer_list>
#include <span>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/index.hpp>

namespace damo {

/// A view where no index is a tensor, else a new Array in C order.
Array subtensor(const Array& x, std::span<const AnyIndex<Array>> indices);
Array subtensor(const Array& x, std::span<const Index> indices);
inline Array subtensor(const Array& x, std::initializer_list<AnyIndex<Array>> indices) { return subtensor(x, std::span(indices.begin(), indices.size())); }
/// A new Array; x stays.
Array set_subtensor(const Array& x, std::span<const AnyIndex<Array>> indices, const ArrayOperand& y);
Array set_subtensor(const Array& x, std::span<const Index> indices, const ArrayOperand& y);
inline Array set_subtensor(const Array& x, std::initializer_list<AnyIndex<Array>> indices, const ArrayOperand& y) {
  return set_subtensor(x, std::span(indices.begin(), indices.size()), y);
}
Array inc_subtensor(const Array& x, std::span<const AnyIndex<Array>> indices, const ArrayOperand& y);
Array inc_subtensor(const Array& x, std::span<const Index> indices, const ArrayOperand& y);
inline Array inc_subtensor(const Array& x, std::initializer_list<AnyIndex<Array>> indices, const ArrayOperand& y) {
  return inc_subtensor(x, std::span(indices.begin(), indices.size()), y);
}

}  // namespace damo
