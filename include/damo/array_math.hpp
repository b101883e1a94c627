// Arithmetic on Arrays, at once: every elementwise op of ops/rows.inc as a function and, where C++ has one, an
// operator.
//
//   std::vector<float> doubled = (2 * a).to_vector<float>();
//   a += exp(-b) * c;                          // in place, through views too: a.slice({{0, 3}}) *= 0.5
//
// An operand is an Array or a C++ number, at least one an Array. Arrays are promoted and broadcast as the same ops of a
// graph do (ops/math.hpp), and may have any strides; all must be on one device, else DeviceError. Results are new
// arrays in C order on that device. TypeError for a dtype that the row does not take, ShapeError for shapes that do not
// broadcast.
//
//   + - * / %      add sub mul true_div mod; / of integers is in float64, int_div floors
//   -x  ~x         neg invert
//   << >>          left_shift right_shift, of integers
//   & | ^          and_ or_ xor_
//   < <= > >=      lt le gt ge: an Array of dtype bool; equality is eq(x, y) and neq(x, y)
//   += -= *= /= %= write into the Array on the left, whose dtype stays: TypeError if that would turn a floating result
//                  into integers. What the right side shares with the left is read before it is written.
//
// One kernel launch an operation; a graph (function.hpp) fuses several. Kernels are compiled once for each row, dtypes
// and kind of layout; no number or extent compiles a new one. See tests/ops/eager/math_test.cpp.
#pragma once
#include <initializer_list>

#include <damo/array.hpp>
#include <damo/array_operand.hpp>
#include <damo/elementwise.hpp>

namespace damo {

#define DAMO_ROW1(row, ...) Array row(const ArrayOperand& x);
#define DAMO_ROW2(row, ...) Array row(const ArrayOperand& x, const ArrayOperand& y);
#define DAMO_ROW3(row, ...) Array row(const ArrayOperand& x, const ArrayOperand& y, const ArrayOperand& z);
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

/// As ops/math.hpp has it for Variables; one kernel.
Array isclose(const ArrayOperand& x, const ArrayOperand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// Whether all elements are; waits for the device.
bool allclose(const ArrayOperand& x, const ArrayOperand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

/// Any row, a user's too: apply_elementwise(swish.row(), {a}).
Array apply_elementwise(const ElementwiseRow& row, std::initializer_list<ArrayOperand> inputs);
/// Into the elements of out, which has the shape of the result. In place of a new array.
void apply_elementwise(const ElementwiseRow& row, std::initializer_list<ArrayOperand> inputs, const Array& out);

/// The elements in another dtype, as ops/cast.hpp converts them: a new array, also where the dtype stays.
Array astype(const Array& x, DType dtype);
inline Array cast(const Array& x, DType dtype) { return astype(x, dtype); }
/// Elements of from, broadcast and cast, into to: to[...] = from. from may be a number.
void assign(const Array& to, const ArrayOperand& from);

inline Array operator+(const ArrayOperand& x, const ArrayOperand& y) { return add(x, y); }
inline Array operator-(const ArrayOperand& x, const ArrayOperand& y) { return sub(x, y); }
inline Array operator*(const ArrayOperand& x, const ArrayOperand& y) { return mul(x, y); }
inline Array operator/(const ArrayOperand& x, const ArrayOperand& y) { return true_div(x, y); }
inline Array operator%(const ArrayOperand& x, const ArrayOperand& y) { return mod(x, y); }
inline Array operator-(const Array& x) { return neg(x); }

inline Array operator<(const ArrayOperand& x, const ArrayOperand& y) { return lt(x, y); }
inline Array operator<=(const ArrayOperand& x, const ArrayOperand& y) { return le(x, y); }
inline Array operator>(const ArrayOperand& x, const ArrayOperand& y) { return gt(x, y); }
inline Array operator>=(const ArrayOperand& x, const ArrayOperand& y) { return ge(x, y); }

inline Array operator&(const ArrayOperand& x, const ArrayOperand& y) { return and_(x, y); }
inline Array operator|(const ArrayOperand& x, const ArrayOperand& y) { return or_(x, y); }
inline Array operator^(const ArrayOperand& x, const ArrayOperand& y) { return xor_(x, y); }
inline Array operator<<(const ArrayOperand& x, const ArrayOperand& y) { return left_shift(x, y); }
inline Array operator>>(const ArrayOperand& x, const ArrayOperand& y) { return right_shift(x, y); }
inline Array operator~(const Array& x) { return invert(x); }
Array operator&&(const Array& x, const Array& y) = delete;  // logical_and(), or & of bools: && would ask whether they are empty
Array operator||(const Array& x, const Array& y) = delete;  // logical_or(), or |

const Array& operator+=(const Array& x, const ArrayOperand& y);
const Array& operator-=(const Array& x, const ArrayOperand& y);
const Array& operator*=(const Array& x, const ArrayOperand& y);
const Array& operator/=(const Array& x, const ArrayOperand& y);
const Array& operator%=(const Array& x, const ArrayOperand& y);

}  // namespace damo
