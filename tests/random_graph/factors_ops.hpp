// Factors of matrices in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// x x^T / columns + 4, symmetric and far from singular: no eigenvalue is below 4.
inline Variable well_conditioned(const Variable& x) {
  const Variable product = matmul(x, swap_axes(x, -1, -2)) / cast(extent_of(x, x.rank() - 1), x.dtype());
  return product + triu(tril(product * 0.0 + 4.0));
}

/// What is unique of each factor.
template <class T>
std::vector<T> factors_node(const std::string& how, const std::vector<T>& in, const std::vector<int>&) {
  if constexpr (std::is_same_v<T, Variable>) {
    const Variable x = tamed(in[0]), s = well_conditioned(x);
    if (how == "cholesky") return {cholesky(s)};
    if (how == "solve") return {solve(s, x)};
    if (how == "cholesky_solve") return {cholesky_solve(cholesky(s), x)};
    if (how == "solve_triangular") return {solve_triangular(s, x)};
    if (how == "inv") return {inv(s)};
    if (how == "slogdet") return {slogdet(s).logarithm};
    if (how == "qr") return {abs(qr(s).r)};
    if (how == "svd") return {svd(s, false).values};
    return {eigh(s).values};
  }
  return {};
}

}  // namespace damo::testing
