#include <damo/array_matrix_functions.hpp>

#include <limits>

#include <damo/array_decompositions.hpp>
#include <damo/array_linalg.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>
#include "ops/both_worlds.hpp"
#include "ops/decompositions/decompositions.hpp"
#include "ops/matrix_functions_of.hpp"

namespace damo {
namespace {

using EagerMatrices = MatrixFunctionsOf<OfArrays>;

/// Pade's approximant of degree 13 of e^x, for |x| <= 5.37 (Higham 2005): the quotient of v + u and v - u, even and odd powers.
Array pade13(const Array& x) {
  const Array one = EagerMatrices::identity(x), x2 = matmul(x, x), x4 = matmul(x2, x2), x6 = matmul(x4, x2);
  const Array u = matmul(x, matmul(x6, x6 + x4 * 16380.0 + x2 * 40840800.0) + x6 * 33522128640.0 + x4 * 10559470521600.0 + x2 * 1187353796428800.0 + one * 32382376266240000.0);
  const Array v = matmul(x6, x6 * 182.0 + x4 * 960960.0 + x2 * 1323241920.0) + x6 * 670442572800.0 + x4 * 129060195264000.0 + x2 * 7771770303897600.0 + one * 64764752532480000.0;
  return solve(v - u, v + u);
}

}  // namespace

Array kron(const Array& x, const Array& y) {
  return asked_at_once("kron", [&] { return EagerMatrices::kron(given_array("kron", x), given_array("kron", y)); }, x, y);
}
Array matrix_power(const Array& x, int n) {
  return asked_at_once("matrix_power", [&] { return contiguous(EagerMatrices::matrix_power(given_array("matrix_power", x), n)); }, x);
}

Array expm(const Array& given) {
  EagerMatrices::require_square("expm", given_array("expm", given));
  const Array x = OfArrays::converted(given, computed_dtype(given.dtype()));
  const DType shown = is_floating(given.dtype()) ? given.dtype() : x.dtype();
  if (x.size() == 0) return OfArrays::converted(x, shown);
  // Each matrix is halved until the approximant holds, and squared as often.
  const auto of_matrices_of = [](const Array& values) { return expand_dims(expand_dims(values, -1), -1); };
  const Array size = max(sum(abs(x), -2), -1), asked = ceil(log2(size / 5.371920351148152)), times = where(isfinite(asked), maximum(asked, 0.0), 0.0);
  const Array of_matrices = of_matrices_of(times), is_finite = of_matrices_of(isfinite(size));
  // A matrix with NaN has no other exponential; a solver might call it singular.
  Array result = pade13(where(is_finite, x, 0.0) * exp2(-of_matrices));
  const int most = static_cast<int>(max(times).item().as_double());
  for (int k = 0; k < most; ++k) result = where(gt(of_matrices, k), matmul(result, result), result);
  return OfArrays::converted(where(is_finite, result, std::numeric_limits<double>::quiet_NaN()), shown);
}

LeastSquaresArrays lstsq(const Array& a, const Array& b, std::optional<double> rcond) {
  return asked_at_once("lstsq", [&]() -> LeastSquaresArrays {
    require_system(given_array("lstsq", a), given_array("lstsq", b), a.shape(), b.shape());
    const DType common = result_type(std::vector<Promotable>{{a.dtype()}, {b.dtype()}}), dtype = computed_dtype(common), shown = is_floating(common) ? common : dtype;
    const Array wide = OfArrays::converted(a, dtype);
    const double least = least_share(wide.shape(), dtype, rcond);
    const auto [u, values, vt] = svd(wide, false);
    const Array is_small = le(values, mul(EagerMatrices::greatest(values), least)), inverses = where(is_small, 0, reciprocal(where(is_small, 1, values)));  // NaN is not
    const Array inverse = matmul(mul(swap_axes(vt, -1, -2), expand_dims(inverses, -2)), swap_axes(u, -1, -2));
    const auto parts = EagerMatrices::lstsq(wide, OfArrays::converted(b, dtype), inverse, values, least);
    return {OfArrays::converted(parts.solution, shown), OfArrays::converted(parts.residuals, shown), parts.rank, OfArrays::converted(parts.values, shown)};
  }, a, b);
}

}  // namespace damo
