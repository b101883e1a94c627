// Factors of matrices in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// What is unique of each factor.
template <class T>
std::vector<T> factors_node(const std::string& how, const std::vector<T>& in, const std::vector<int>&) {
  const T x = tamed(in[0]), s = well_conditioned(x);
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

}  // namespace damo::testing
