// Products, powers, exponentials and least squares of matrices in a graph. Those of Arrays (array_matrix_functions.hpp) have the same names and meaning;
// this page is the manual of both. Matrices are the last two axes, axes before are batches. What of them is made of factors takes LAPACK or cuSOLVER, and
// computes in the dtypes that ops/decompositions.hpp says. Eigenvalues of matrices that are not symmetric are not here: they are complex, and Damo has no
// complex dtype. See tests/linalg/matrix_functions_test.cpp.
#pragma once
#include <optional>
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// Kronecker's product: x[i] y[j] at i (extent of y) + j, along each axis; the lower rank gets axes of extent 1 in front. Any dtypes, promoted. Cost: writing it.
Variable kron(const Operand& x, const Operand& y);

/// x x ... x, n times, by squarings; the inverse's for a negative n, of 0 the identity. ShapeError unless matrices are square. Cost: up to 2 log2(n) products.
Variable matrix_power(const Operand& x, int n);

/// e^x = 1 + x + x^2 / 2 + ... of square matrices, by Higham's scaling and squaring (2005) around the Pade approximant of degree 13. Its gradient, of every order, is an exponential
/// of matrices of twice the extents (Van Loan 1978). The call waits for the device: how often to square depends on the data. Cost: about 8 + log2(|x|) products.
Variable expm(const Operand& x);

struct LeastSquares {
  Variable solution;   ///< (b..., n) or (b..., n, k): of all y for which |a y - b| is least, the one that is least itself
  Variable residuals;  ///< |a y - b|^2 of each column: (b...) or (b..., k). NumPy's is empty where the rank is less than n; this one is not.
  Variable rank;       ///< int64 (b...): how many singular values count
  Variable values;     ///< the singular values of a, descending
};
/// a: (b..., m, n), b: (m,), one vector for all matrices, or (b..., m, k). Singular values up to rcond times the greatest count as 0; rcond: as in pinv. Cost: about
/// 14 m n^2. Gradients by a and b are those of pinv(a, rcond) b, as singular values stay on their side of the cut.
LeastSquares lstsq(const Operand& a, const Operand& b, std::optional<double> rcond = {});

}  // namespace damo
