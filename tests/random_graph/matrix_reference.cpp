#include "matrix_reference.hpp"

#include <algorithm>
#include <cmath>

namespace damo::testing {

Matrix identity_matrix(std::size_t rows) {
  Matrix result{rows, rows};
  for (std::size_t i = 0; i < rows; ++i) result.at(i, i) = 1;
  return result;
}

Matrix product_of(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns};
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.columns; ++j) {
      for (std::size_t k = 0; k < a.columns; ++k) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

Matrix cholesky_of(const Matrix& s) {
  Matrix l{s.rows, s.rows};
  for (std::size_t j = 0; j < s.rows; ++j) {
    for (std::size_t i = j; i < s.rows; ++i) {
      Wide rest = s.at(i, j);
      for (std::size_t k = 0; k < j; ++k) rest -= l.at(i, k) * l.at(j, k);
      l.at(i, j) = i == j ? std::sqrt(rest) : rest / l.at(j, j);
    }
  }
  return l;
}

Matrix solved(const Matrix& l, Matrix b, bool transposed) {
  for (std::size_t step = 0; step < l.rows; ++step) {
    const std::size_t i = transposed ? l.rows - 1 - step : step;
    for (std::size_t c = 0; c < b.columns; ++c) {
      for (std::size_t k = transposed ? i + 1 : 0; k < (transposed ? l.rows : i); ++k) b.at(i, c) -= (transposed ? l.at(k, i) : l.at(i, k)) * b.at(k, c);
      b.at(i, c) /= l.at(i, i);
    }
  }
  return b;
}

/// Columns are turned against each other until all are orthogonal (Hestenes).
std::vector<Wide> singular_values(Matrix a) {
  for (int sweep = 0; sweep < 30; ++sweep) {
    for (std::size_t p = 0; p < a.columns; ++p) {
      for (std::size_t q = p + 1; q < a.columns; ++q) {
        Wide pp = 0, qq = 0, pq = 0;
        for (std::size_t i = 0; i < a.rows; ++i) pp += a.at(i, p) * a.at(i, p), qq += a.at(i, q) * a.at(i, q), pq += a.at(i, p) * a.at(i, q);
        if (std::fabs(pq) <= 1e-25L * std::sqrt(pp * qq)) continue;
        const Wide zeta = (qq - pp) / (2 * pq), t = std::copysign(1.0L, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta)), c = 1 / std::sqrt(1 + t * t);
        for (std::size_t i = 0; i < a.rows; ++i) {
          const Wide x = a.at(i, p), y = a.at(i, q);
          a.at(i, p) = c * (x - t * y), a.at(i, q) = c * (t * x + y);
        }
      }
    }
  }
  std::vector<Wide> values;
  for (std::size_t j = 0; j < a.columns; ++j) {
    Wide size = 0;
    for (std::size_t i = 0; i < a.rows; ++i) size += a.at(i, j) * a.at(i, j);
    values.push_back(std::sqrt(size));
  }
  std::sort(values.rbegin(), values.rend());
  return values;
}

Matrix solved_twice(const Matrix& l, const Matrix& b) { return solved(l, solved(l, b, false), true); }

Conditioned conditioned(const Tensor& x, std::size_t first, std::size_t rows, std::size_t columns, Wide unit) {
  Conditioned c{{rows, columns}, {rows, rows}, 0, 0, 0};
  for (std::size_t i = 0; i < rows * columns; ++i) c.x.values[i] = x.elements[first + i].value, c.error = std::max(c.error, x.elements[first + i].error);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t k = 0; k < columns; ++k) c.s.at(i, j) += c.x.at(i, k) * c.x.at(j, k) / static_cast<Wide>(columns);
    }
    c.s.at(i, i) += 4, c.trace += c.s.at(i, i);
  }
  const auto n = static_cast<Wide>(rows);
  c.change = n * (8 * c.error + c.error * c.error) + 2 * (static_cast<Wide>(columns) + 8 * n) * unit * c.trace;
  return c;
}

}  // namespace damo::testing
