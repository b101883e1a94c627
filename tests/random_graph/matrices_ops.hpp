// Products, powers, exponentials and inverses of matrices in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// numbers: the power.
template <class T>
std::vector<T> matrices_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  if (how == "kron") return {kron(in[0], in[1])};
  const T x = tamed(in[0]), s = well_conditioned(x);
  if (how == "matrix_power") return {matrix_power(s, numbers[0])};
  if (how == "expm") return {expm(mul(s, 0.25))};
  if (how == "det") return {det(s)};
  if (how == "trace") return {trace(s)};
  const T twice = concatenate({s, s}, -2);
  if (how == "pinv") return {pinv(twice)};
  if (how == "lstsq") {
    const auto found = lstsq(twice, concatenate({x, mul(x, 0.5)}, -2));
    return {found.solution, found.residuals, found.rank, found.values};
  }
  if constexpr (std::is_same_v<T, Variable>) {  // "lu": s from its factors, whose rows are in the order that they say
    const LuFactors factors = lu(s);
    const Variable places = eq(expand_dims(factors.order, -2), index_along(s, -2));
    return {matmul(cast(places, s.dtype()), matmul(factors.l, factors.u)), sum(log(abs(diagonal(factors.u))), -1)};
  }
  return {};
}

}  // namespace damo::testing
