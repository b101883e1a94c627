// The sum of x * y over all elements, in one pass.
#pragma once
#include <damo/array.hpp>

namespace damo {

/// x, y: one shape and dtype, no bools. out: one element; added up as reductions are (array_reduce.hpp), integers modulo 2^64.
void inner_product(const Array& x, const Array& y, const Array& out);

}  // namespace damo
