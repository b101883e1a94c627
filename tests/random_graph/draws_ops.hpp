// Random numbers in random graphs. A printed program carries this file with it.
#pragma once
#include <type_traits>

#include "family_parts.hpp"

namespace damo::testing {

/// One draw of x's shape. random: a RandomStream or a RandomGenerator.
template <class Result, class Random, class Shape>
Result drawn(const std::string& how, Random& random, const Shape& shape, DType dtype) {
  if (how == "bits") return random.bits(shape, dtype == float64 ? uint64 : uint32);
  if (how == "uniform") return random.uniform(shape, 0, 1, dtype);
  if (how == "uniform_between") return random.uniform(shape, -2, 3, dtype);
  if (how == "normal") return random.normal(shape, 0.5, 2, dtype);
  if (how == "exponential") return random.exponential(shape, 1.5, dtype);
  if (how == "gamma") return random.gamma(shape, 2.5, 1, dtype);
  if (how == "gumbel") return random.gumbel(shape, dtype);
  if (how == "truncated_normal") return random.truncated_normal(shape, -1, 2, 0.5, 2, dtype);
  if (how == "choice") return random.choice(7, shape);
  if (how == "bernoulli") return random.bernoulli(shape, 0.25);
  if (how == "randint") return random.randint(shape, -3, 9);
  return random.poisson(shape, 4);
}

/// numbers: key, counter, whether of float64.
template <class T>
std::vector<T> draws_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const T& x = in[0];
  const DType dtype = numbers[2] != 0 ? float64 : float32;
  const auto key = static_cast<std::uint64_t>(numbers[0]), counter = static_cast<std::uint64_t>(numbers[1]);
  if constexpr (std::is_same_v<T, Variable>) {
    const RandomStream random(stack({constant(Scalar(key)), constant(Scalar(counter))}, 0));
    if (how == "dropout") return {random.dropout(tamed(x), 0.25)};
    if (how == "categorical") return {random.categorical(tamed(x), -1)};
    if (how == "categorical_of") return {random.categorical_of(add(tamed(x), 5.0), -1)};
    if (how == "permutation") return {random.permutation(x, 0)};
    return {drawn<Variable>(how, random, x, dtype)};
  } else {
    RandomGenerator random(key, counter, x.device());
    if (how == "dropout") return {random.dropout(tamed(x), 0.25)};
    if (how == "categorical") return {random.categorical(tamed(x), -1)};
    if (how == "categorical_of") return {random.categorical_of(add(tamed(x), 5.0), -1)};
    if (how == "permutation") return {random.permutation(x, 0)};
    return {drawn<Array>(how, random, x.shape(), dtype)};
  }
}

}  // namespace damo::testing
