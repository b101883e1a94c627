// Factors of matrices, systems of equations, eigenvalues and singular values of Arrays, at once: see ops/decompositions.hpp for what they mean. Operands lie
// on one device, else DeviceError; results are new arrays there.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/array.hpp>
#include <damo/linalg_error.hpp>

namespace damo {

Array cholesky(const Array& x, bool lower = true);
Array solve(const Array& a, const Array& b);
Array solve_triangular(const Array& a, const Array& b, bool lower = true, bool transposed = false, bool unit_diagonal = false);
Array cholesky_solve(const Array& l, const Array& b);
Array inv(const Array& x);
Array pinv(const Array& x, std::optional<double> rcond = {});
Array det(const Array& x);

struct SignAndLogarithmArrays {
  Array sign, logarithm;
};
SignAndLogarithmArrays slogdet(const Array& x);

struct QrArrays {
  Array q, r;
};
QrArrays qr(const Array& x, bool complete = false);

struct SingularValueArrays {
  Array u, values, vt;
};
SingularValueArrays svd(const Array& x, bool full_matrices = true);

struct EigenvalueArrays {
  Array values, vectors;
};
EigenvalueArrays eigh(const Array& x, bool lower = true);

struct LuArrays {
  Array order, l, u;
};
LuArrays lu(const Array& x);

Array tril(const Array& x, std::int64_t diagonal = 0);
Array triu(const Array& x, std::int64_t diagonal = 0);
Array diagonal(const Array& x);
Array trace(const Array& x);

}  // namespace damo
