// What the functions of ops/matrix_functions.hpp and array_matrix_functions.hpp are made of, for a World of values (both_worlds.hpp).
#pragma once
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <damo/axes.hpp>
#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include <damo/shape.hpp>
#include "ops/decompositions/decomposition.hpp"

namespace damo {

/// As factors are computed: ops/decompositions.hpp.
constexpr DType computed_dtype(DType dtype) { return is_half(dtype) ? float32 : is_floating(dtype) ? dtype : float64; }

/// Throws ShapeError unless a is a matrix and b has as many rows, as far as dims tell.
template <class Value>
void require_system(const Value& a, const Value& b, const Shape& a_dims, const Shape& b_dims) {
  if (a.rank() < 2) throw ShapeError("lstsq: a is no matrix: " + describe(a), "give it two axes or more");
  if (b.rank() < 1) throw ShapeError("lstsq: the right side has no axes: " + describe(b), "give it as many rows as the matrix");
  require_rows("lstsq", a_dims, b_dims);
}

template <class World>
struct MatrixFunctionsOf {
  using Value = typename World::Value;

  static void require_square(const char* name, const Value& x) {
    const Shape& dims = World::dims(x);
    if (dims.rank() < 2) throw ShapeError(std::string(name) + ": x is no matrix: " + describe(x), "give it two axes or more");
    if (dims[-1] != dims[-2] && dims[-1] != kUnknown && dims[-2] != kUnknown) {
      throw ShapeError(std::string(name) + ": matrices of " + std::to_string(dims[-2]) + " x " + std::to_string(dims[-1]) + " are not square: " + describe(x), "only square ones have powers");
    }
  }

  static Value identity(const Value& x) { return World::converted(eq(World::places(x, -1), World::places(x, -2)), x.dtype()); }

  static Value kron(const Value& x, const Value& y) {
    // (a, 1, b, 1) (1, c, 1, d): the pairs of axes become one.
    const int rank = std::max(World::dims(x).rank(), World::dims(y).rank());
    const auto apart = [&](const Value& z, int behind) {
      std::vector<int> pattern(static_cast<std::size_t>(2 * rank), kNewAxis);
      for (int axis = 0, own = World::dims(z).rank(); axis < own; ++axis) pattern[static_cast<std::size_t>(2 * (axis + rank - own) + behind)] = axis;
      return dimshuffle(z, pattern);
    };
    Value product = mul(apart(x, 0), apart(y, 1));
    for (int axis = 0; axis < rank; ++axis) product = flatten(product, axis, axis + 1);
    return product;
  }

  static Value matrix_power(const Value& given, int n) {
    require_square("matrix_power", given);
    if (n == 0) return second(given, identity(given));
    Value square = n < 0 ? inv(given) : given, result;
    bool has_result = false;
    for (unsigned left = n < 0 ? 0u - static_cast<unsigned>(n) : static_cast<unsigned>(n); left > 0; left >>= 1) {
      if (left & 1u) result = has_result ? matmul(result, square) : square, has_result = true;
      if (left > 1) square = matmul(square, square);
    }
    return result;
  }

  /// (..., 1) of values (..., k), descending: the first; of none 0.
  static Value greatest(const Value& values) { return sum(where(eq(World::places(values, -1), 0), values, 0.0), -1, true); }

  struct Solved {
    Value solution, residuals, rank, values;
  };
  /// inverse: the pseudoinverse of a; values: its singular values.
  static Solved lstsq(const Value& a, const Value& b, const Value& inverse, const Value& values, double rcond) {
    const bool is_vector = World::dims(b).rank() == 1;
    const Value column = is_vector ? expand_dims(b, 1) : b, solution = matmul(inverse, column), rest = sub(matmul(a, solution), column);
    const Value residuals = sum(sqr(rest), -2), counts = gt(values, mul(greatest(values), rcond));
    return {is_vector ? squeeze(solution, -1) : solution, is_vector ? squeeze(residuals, -1) : residuals, sum(World::converted(counts, int64), -1), values};
  }
};

}  // namespace damo
