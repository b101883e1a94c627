// cast: elements converted to another dtype, as a C++ conversion does: towards zero from floating to integer (a value
// out of range gives an arbitrary one), to nearest even between floating dtypes, 0 and not 0 to bool.
// x: any shape, any dtype -> the same shape of dtype. The same dtype gives x itself. Fuses like a row.
#pragma once
#include <damo/variable.hpp>

namespace damo {

Variable cast(const Operand& x, DType dtype);

}  // namespace damo
