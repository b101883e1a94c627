// Elementwise ops as functions and operators of Variables:
//
//   Variable y = exp(-x * x) + 1.5;      Variable z = where(lt(x, y), x, maximum(y, 0.0));
//
// Each is one row of ops/rows.inc, which has its formula: one function for each line there, of one, two or three
// operands. An operand is a Variable or a C++ number, at least one a Variable if an operator is to be found. Inputs are
// promoted as NumPy 2 does (docs/promotion.md) and broadcast; TypeError for a dtype that the row does not take,
// ShapeError for shapes that do not broadcast, both naming the line of the call.
//
//   + - * / %      add sub mul true_div mod; / of integers is in float64, int_div floors
//   -x  ~x         neg invert
//   < <= > >=      lt le gt ge: a Variable of dtype bool. Equality is eq(x, y) and neq(x, y), for == and != of two
//                  handles would be read as a comparison of the handles.
//   << >>          left_shift right_shift, of integers
//   & | ^          and_ or_ xor_: integers bit by bit, bools as logic. && and || are not overloaded, both sides of
//                  them would be computed.
//
// The functions live beside C's: with "using namespace damo", exp(x) of a Variable is this one and exp(1.5) is C's.
// See tests/ops/math_test.cpp and tests/function/comparisons_test.cpp.
#pragma once
#include <damo/elementwise.hpp>

namespace damo {

#define DAMO_ROW1(row, ...) Variable row(const Operand& x);
#define DAMO_ROW2(row, ...) Variable row(const Operand& x, const Operand& y);
#define DAMO_ROW3(row, ...) Variable row(const Operand& x, const Operand& y, const Operand& z);
#include <damo/ops/rows.inc>
#undef DAMO_ROW1
#undef DAMO_ROW2
#undef DAMO_ROW3

/// Where |x - y| <= atol + rtol |y|, infinities of one sign are equal, and NaN is close to nothing unless equal_nan: bool, of the common shape,
/// as NumPy's isclose. 16-bit floats are compared in float32, integers and bools in float64. Has no gradient. TypeError for 8-bit floats, OptionError
/// for a tolerance that is negative or NaN. Cost: fuses as a row does.
Variable isclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);
/// bool, rank 0: whether all elements are. Of Arrays a bool, for which the call waits.
Variable allclose(const Operand& x, const Operand& y, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false);

inline Variable operator+(const Operand& x, const Operand& y) { return add(x, y); }
inline Variable operator-(const Operand& x, const Operand& y) { return sub(x, y); }
inline Variable operator*(const Operand& x, const Operand& y) { return mul(x, y); }
inline Variable operator/(const Operand& x, const Operand& y) { return true_div(x, y); }
inline Variable operator%(const Operand& x, const Operand& y) { return mod(x, y); }
inline Variable operator-(const Operand& x) { return neg(x); }

inline Variable operator<(const Operand& x, const Operand& y) { return lt(x, y); }
inline Variable operator<=(const Operand& x, const Operand& y) { return le(x, y); }
inline Variable operator>(const Operand& x, const Operand& y) { return gt(x, y); }
inline Variable operator>=(const Operand& x, const Operand& y) { return ge(x, y); }

inline Variable operator&(const Operand& x, const Operand& y) { return and_(x, y); }
inline Variable operator|(const Operand& x, const Operand& y) { return or_(x, y); }
inline Variable operator^(const Operand& x, const Operand& y) { return xor_(x, y); }
inline Variable operator<<(const Operand& x, const Operand& y) { return left_shift(x, y); }
inline Variable operator>>(const Operand& x, const Operand& y) { return right_shift(x, y); }
inline Variable operator~(const Operand& x) { return invert(x); }
Variable operator&&(const Variable& x, const Variable& y) = delete;  // logical_and(), or & of bools: && would ask whether they are empty
Variable operator||(const Variable& x, const Variable& y) = delete;  // logical_or(), or |

}  // namespace damo
