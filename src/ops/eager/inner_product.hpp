// The sum of x * y over all elements, in one pass.
#pragma once
#include <damo/array.hpp>
#include "runtime/kernel/layout.hpp"

namespace damo {

/// x, y: one shape and dtype, no bools. out: one element; added up as reductions are (array_reduce.hpp), integers modulo 2^64.
void inner_product(const Array& x, const Array& y, const Array& out);

/// The scratch that it needs for arrays of these layouts and dtype, and a result of that one.
std::size_t inner_product_bytes(Backend& backend, DType dtype, ArrayLayout x, ArrayLayout y, DType result);

}  // namespace damo
