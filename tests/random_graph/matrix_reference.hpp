// Textbook methods for matrices in long double, and the well conditioned matrix that families of random graphs factor.
#pragma once
#include <vector>

#include "reference.hpp"

namespace damo::testing {

struct Matrix {
  std::size_t rows, columns;
  std::vector<Wide> values = std::vector<Wide>(rows * columns, 0);
  Wide& at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  Wide at(std::size_t i, std::size_t j) const { return values[i * columns + j]; }
};

Matrix identity_matrix(std::size_t rows);
Matrix product_of(const Matrix& a, const Matrix& b);
Matrix cholesky_of(const Matrix& s);
/// l y = b, or l^T y = b.
Matrix solved(const Matrix& l, Matrix b, bool transposed);
/// (l l^T) y = b.
Matrix solved_twice(const Matrix& l, const Matrix& b);
/// Descending.
std::vector<Wide> singular_values(Matrix a);

/// What well_conditioned() of family_parts.hpp makes of a matrix x: symmetric, with no eigenvalue below 4, nor above its trace.
struct Conditioned {
  Matrix x, s;
  Wide error, trace, change;  ///< error: of x's elements; change: of s, in norm, by them and by rounding
};
/// The matrix that begins at x's element `first`; unit: half a unit in the last place of 1.
Conditioned conditioned(const Tensor& x, std::size_t first, std::size_t rows, std::size_t columns, Wide unit);

}  // namespace damo::testing
