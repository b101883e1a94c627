// cast: elements converted to another dtype. The same on every back end, for numbers in a graph (Scalar::cast), arrays
// (astype, assign) and whatever else a dtype becomes another by:
//
//   floating -> integer    towards zero; out of range the nearest that the dtype has, NaN 0: -1.5 is 0 as uint8, 300.0
//                          is 127 as int8 (NumPy and C++ leave these open)
//   integer -> integer     modulo 2^n: 300 is 44 as int8
//   anything -> floating   the nearest, ties to even, in one rounding, infinity where the dtype ends; float8_e4m3 has none and becomes NaN there: 465 and
//                          more (448 is its greatest number). Nothing saturates: clip before, where that is wanted
//   anything -> bool       whether it is not 0; NaN is true
//
// x: any shape, any dtype -> the same shape of dtype. The same dtype gives x itself. Fuses like a row. See
// tests/function/cast_test.cpp.
#pragma once
#include <damo/variable.hpp>

namespace damo {

Variable cast(const Operand& x, DType dtype);
inline Variable astype(const Operand& x, DType dtype) { return cast(x, dtype); }  ///< NumPy's name, which Arrays have too

}  // namespace damo
