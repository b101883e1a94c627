// What the codes of integer steps mean, computed without any dtype's limits and then brought back to it: what ranges and short integers are held against.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernel/spec.hpp"

namespace damo {

__extension__ using WideInteger = __int128;

inline const std::vector<std::string>& codes_of_one() {
  static const std::vector<std::string> codes{"x0", "wrap_neg(x0)", "wrap_abs(x0)", "sign(x0)", "wrap_mul(x0, x0)", "~x0"};
  return codes;
}
inline const std::vector<std::string>& codes_of_two() {
  static const std::vector<std::string> codes{"wrap_add(x0, x1)", "wrap_sub(x0, x1)", "wrap_mul(x0, x1)", "floor_div(x0, x1)", "floor_mod(x0, x1)", "truncated_mod(x0, x1)", "maximum(x0, x1)", "minimum(x0, x1)",
                                              "x0 & x1", "x0 | x1", "x0 ^ x1", "left_shift(x0, x1)", "right_shift(x0, x1)", "((void)x0, x1)"};
  return codes;
}
inline const std::vector<std::string>& codes_of_questions() {
  static const std::vector<std::string> codes{"x0 < x1", "x0 <= x1", "x0 > x1", "x0 >= x1", "x0 == x1", "x0 != x1", "(x0 != T(0)) & (x1 != T(0))", "(x0 != T(0)) | (x1 != T(0))", "(x0 != T(0)) != (x1 != T(0))"};
  return codes;
}

/// As the dtype, an integer's, holds it: modulo 2^n, of bool whether it is not 0.
inline WideInteger held(WideInteger value, DType dtype) {
  if (dtype == bool_) return value != 0;
  const int bits = static_cast<int>(8 * itemsize(dtype));
  const WideInteger all = WideInteger(1) << bits;
  WideInteger low = value & (all - 1);
  if (is_signed(dtype) && low >= all / 2) low -= all;
  return low;
}

inline WideInteger floor_quotient(WideInteger x, WideInteger y) { return y == 0 ? 0 : x / y - ((x % y != 0 && (x % y < 0) != (y < 0)) ? 1 : 0); }

/// Before it is brought back to the dtype that it is computed in, of so many bits.
inline WideInteger value_of_code(const std::string& code, WideInteger x, WideInteger y, WideInteger z, int bits) {
  if (code == "x0") return x;
  if (code == "wrap_neg(x0)") return -x;
  if (code == "wrap_abs(x0)") return x < 0 ? -x : x;
  if (code == "sign(x0)") return (x > 0) - (x < 0);
  if (code == "wrap_mul(x0, x0)") return x * x;
  if (code == "~x0") return ~x;
  if (code == "wrap_add(x0, x1)") return x + y;
  if (code == "wrap_sub(x0, x1)") return x - y;
  if (code == "wrap_mul(x0, x1)") return x * y;
  if (code == "floor_div(x0, x1)") return floor_quotient(x, y);
  if (code == "floor_mod(x0, x1)") return y == 0 ? 0 : x - y * floor_quotient(x, y);
  if (code == "truncated_mod(x0, x1)") return y == 0 ? 0 : x % y;
  if (code == "maximum(x0, x1)") return x > y ? x : y;
  if (code == "minimum(x0, x1)") return x < y ? x : y;
  if (code == "x0 & x1") return x & y;
  if (code == "x0 | x1") return x | y;
  if (code == "x0 ^ x1") return x ^ y;
  if (code == "left_shift(x0, x1)") return y >= 0 && y < bits ? x * (WideInteger(1) << y) : 0;
  if (code == "right_shift(x0, x1)") return y >= 0 && y < bits ? x >> y : (x < 0 ? -1 : 0);
  if (code == "((void)x0, x1)") return y;
  if (code == "x0 < x1") return x < y;
  if (code == "x0 <= x1") return x <= y;
  if (code == "x0 > x1") return x > y;
  if (code == "x0 >= x1") return x >= y;
  if (code == "x0 == x1") return x == y;
  if (code == "x0 != x1") return x != y;
  if (code == "(x0 != T(0)) & (x1 != T(0))") return x != 0 && y != 0;
  if (code == "(x0 != T(0)) | (x1 != T(0))") return x != 0 || y != 0;
  if (code == "(x0 != T(0)) != (x1 != T(0))") return (x != 0) != (y != 0);
  if (code == "choose(x0, x1, x2)") return x != 0 ? y : z;
  const WideInteger least = x > y ? x : y;  // minimum(maximum(x0, x1), x2)
  return least < z ? least : z;
}

/// A step's value from those before it; what places give stands at `place`.
inline WideInteger value_of_step(const Step& step, const std::vector<WideInteger>& values, WideInteger place) {
  if (step.is_place) return held(held(place, step.compute), step.result);
  WideInteger x[3] = {};
  for (std::size_t i = 0; i < step.inputs.size(); ++i) x[i] = held(values[static_cast<std::size_t>(step.inputs[i])], step.input_as(i));
  return held(held(value_of_code(step.code, x[0], x[1], x[2], static_cast<int>(8 * itemsize(step.compute))), step.compute), step.result);
}

}  // namespace damo
