// Products, powers, exponentials and least squares of Arrays, at once: see ops/matrix_functions.hpp for what they mean. Operands lie on one device, else
// DeviceError. See tests/linalg/matrix_functions_test.cpp.
#pragma once
#include <optional>

#include <damo/array.hpp>

namespace damo {

Array kron(const Array& x, const Array& y);
Array matrix_power(const Array& x, int n);
Array expm(const Array& x);

struct LeastSquaresArrays {
  Array solution, residuals, rank, values;
};
LeastSquaresArrays lstsq(const Array& a, const Array& b, std::optional<double> rcond = {});

}  // namespace damo
