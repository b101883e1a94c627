// The gradient of the pseudoinverse p of a, all singular values up to a cut counting as 0: of the matrices whose values keep their side of it p is a smooth function, which also holds where
// values are equal, on either side, or are 0.
//
// Values that are cut off need not be 0, so a = a1 + a2 with p the inverse of a1 = a p a. In the bases of a's singular vectors, where values i and j are s_i and s_j and G is the transposed gradient by p,
// the gradient by a is (Noferini 2017, of f(s) = 1 / s above the cut and 0 below)
//
//   both kept            -G_ji / (s_i s_j)                                             -p^T G^T p^T
//   i kept, j not        (G_ij + G_ji s_j / s_i) / (s_i^2 - s_j^2), and so for j       the x of x - M x N = M (G + p^T G^T a2) (1 - p a), with M = p^T p and N = a2^T a2
//   neither              0
//
// of which Golub and Pereyra (1973) have the case s_j = 0. x is made of the factors that p was made of. It is a smooth function of M, N and the right side, by which it is differentiated again: factors,
// which are none, are constants there. See tests/linalg/matrix_functions_test.cpp.
#pragma once
#include <damo/ops/decompositions.hpp>

namespace damo {

/// p: pinv's of a; gradient: by p; factors: svd's of a, not full; inverses: of its values, 0 for those that are cut off. All as factors are computed.
Variable gradient_of_pinv(const Variable& a, const Variable& p, const Variable& gradient, const SingularValues& factors, const Variable& inverses, SourceLine line);

}  // namespace damo
