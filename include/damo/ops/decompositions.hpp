// Factors of matrices, systems of equations, eigenvalues and singular values. Matrices are the last two axes, axes before are batches; Arrays have the
// same names in array_decompositions.hpp, of which this page is the manual too.
//
//   Variable alpha = cholesky_solve(cholesky(k + 1e-3 * eye), y);     // a Gaussian process: its weights
//   auto [values, vectors] = eigh(covariance);                        // principal components, the greatest last
//
// Computed in float32 or float64 by LAPACK on the CPU (DAMO_LAPACK_PATH) and by cuSOLVER on a GPU (DAMO_CUSOLVER_PATH), opened at the first use; DeviceError where
// there is none. float16 and bfloat16 are computed in float32, integers and bools in float64. Operands may lie in memory in any way; each is copied once.
// LinalgError, at the call, for a matrix that is singular or not positive definite, which cholesky says of one with NaN too; on a GPU too, where these
// calls therefore wait for the device. solve, inv, det, slogdet and lu of a matrix with NaN have NaN; svd, eigh, pinv and lstsq of one with NaN or an
// infinity are NaN throughout. ShapeError for matrices that are not square where they should be, and extents that do not fit. All have gradients
// of the values that decide (Giles 2008; Murray 2016; Walter and Lehmann 2012 for QR), which have gradients again; those of singular and
// eigenvectors that belong to equal values do not exist and are taken as 0. See tests/linalg/decompositions_test.cpp.
#pragma once
#include <optional>

#include <damo/linalg_error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// L, lower triangular, with L L^T = x; or U with U^T U = x. Of x that triangle alone is read. Cost: n^3 / 3.
Variable cholesky(const Operand& x, bool lower = true);
/// y with a y = b, by LU factors: a (b..., n, n); b (n), one vector for all matrices, or (b..., n, k). Cost: 2 n^3 / 3 + 2 n^2 k.
Variable solve(const Operand& a, const Operand& b);
/// The same where a is triangular, of which that triangle alone is read; transposed: a^T y = b. Cost: n^2 k. A 0 on the diagonal gives infinity.
Variable solve_triangular(const Operand& a, const Operand& b, bool lower = true, bool transposed = false, bool unit_diagonal = false);
/// y with (L L^T) y = b, L being what cholesky gave.
Variable cholesky_solve(const Operand& l, const Operand& b);
/// Cost: 2 n^3.
Variable inv(const Operand& x);
/// Moore and Penrose's inverse, by singular values: those up to rcond times the greatest count as 0; rcond: the greater extent times the dtype's epsilon unless
/// told (the extents are then to be known when the graph is built, else 1000 is taken). The gradient, of every order, is that of the matrices whose values stay on their side of that cut: it
/// holds where values are equal or 0, and where some that are cut off are not 0. It takes the factors of the value and some 25 products.
Variable pinv(const Operand& x, std::optional<double> rcond = {});
/// (b..., n, n) -> (b...). 0 of a singular matrix, for whose gradient LinalgError is thrown at the call.
Variable det(const Operand& x);

struct SignAndLogarithm {
  Variable sign, logarithm;
};
/// Of the determinant: it neither overflows nor underflows. Of a singular matrix 0 and minus infinity.
SignAndLogarithm slogdet(const Operand& x);

struct QrFactors {
  Variable q, r;
};
/// q r = x, (m, n): q (m, k) with orthonormal columns, r (k, n) upper triangular; k the lesser of m and n, or m if it is to be complete. The gradient is that of
/// m >= n and not complete. Cost: 2 m n^2.
QrFactors qr(const Operand& x, bool complete = false);

struct SingularValues {
  Variable u, values, vt;
};
/// u diag(values) vt = x, (m, n): values (k), descending; u (m, k) and vt (k, n), or square if they are to be full, which have no gradient. k: the lesser of
/// m and n. Cost: about 14 m n^2 for m >= n.
SingularValues svd(const Operand& x, bool full_matrices = true);

struct Eigenvalues {
  Variable values, vectors;
};
/// Of a symmetric matrix, of which the lower triangle, or the upper, alone is read: values ascending, the vectors in columns. Cost: about 9 n^3.
Eigenvalues eigh(const Operand& x, bool lower = true);

struct LuFactors {
  Variable order;  ///< int64 (b..., n): row order[i] of x is row i of l u
  Variable l, u;   ///< lower triangular with ones on the diagonal, upper triangular
};
/// Of square matrices, rows exchanged so that no element of l is above 1. A singular one has a 0 on u's diagonal, and no gradient. Cost: 2 n^3 / 3.
LuFactors lu(const Operand& x);

/// The elements of matrices on and below the diagonal that lies so many columns to the right of the main one, zeros beside; on and above.
Variable tril(const Operand& x, std::int64_t diagonal = 0);
Variable triu(const Operand& x, std::int64_t diagonal = 0);
/// The main diagonal of matrices of equal extents, (b..., n, n) -> (b..., n): a view.
Variable diagonal(const Operand& x);
/// Its sum.
Variable trace(const Operand& x);

}  // namespace damo
