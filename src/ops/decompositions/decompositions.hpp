// What the functions of ops/decompositions.hpp and array_decompositions.hpp are made of, for a World of values: Variables (decompositions.cpp) and Arrays
// (eager/decompositions.cpp). A World has
//
//   Value                                  dims(v), dtype_of(v), describe(v): of one
//   cast(v, dtype)  view(v, pattern)       dimshuffle: axes in another order, kNewAxis for a new one of extent 1; -2 leaves nothing out
//   apply(decomposition, values)           its results, raw
//   triangle(v, diagonal, lower)           tril and triu
//   right_side(name, b, a)                 b, which has as many rows as a has, or that is told of the function of that name
//   multiply(v, w)  matmul(v, w)           broadcasting
//   with_ones(v)                           1 on the diagonal of what has 0 there
//   inverted(values, rcond)                1 / value, or 0 up to rcond times the greatest
#pragma once
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <damo/error.hpp>
#include <damo/ops/shape.hpp>

#include "ops/decompositions/decomposition.hpp"

namespace damo {

/// Which share of the greatest singular value counts as none, of matrices of these dims computed in that dtype, unless asked.
inline double least_share(const Shape& dims, DType dtype, std::optional<double> asked) {
  const bool known = dims[-1] != kUnknown && dims[-2] != kUnknown;
  return asked.value_or((known ? static_cast<double>(std::max(dims[-1], dims[-2])) : 1000) * (dtype == float64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon()));
}

template <class World>
class Decompositions {
 public:
  using Value = typename World::Value;
  explicit Decompositions(World world) : world_(std::move(world)) {}

  Value cholesky(const Value& x, bool lower) {
    const Value given = matrix("cholesky", x);
    const Value l = world_.triangle(run({DecompositionKind::kCholesky}, {lower ? given : swapped(given)})[0], 0, true);
    return back(lower ? l : swapped(l), x);
  }
  Value solve(const Value& a, const Value& b) {
    return system(a, b, {DecompositionKind::kSolve});
  }
  Value solve_triangular(const Value& a, const Value& b, bool lower, bool transposed, bool unit_diagonal) {
    return system(a, b, {.kind = DecompositionKind::kSolveTriangular, .lower = lower, .transposed = transposed, .unit_diagonal = unit_diagonal});
  }
  Value cholesky_solve(const Value& l, const Value& b) { return solve_triangular(l, solve_triangular(l, b, true, false, false), true, true, false); }
  Value inv(const Value& x) { return back(run({DecompositionKind::kInverse}, {matrix("inv", x)})[0], x); }
  Value pinv(const Value& x, std::optional<double> rcond) {
    const Value given = matrix("pinv", x);
    const double least = least_share(world_.dims(given), world_.dtype_of(given), rcond);
    const std::vector<Value> parts = run({DecompositionKind::kSvd}, {given});
    // V diag(1 / s) U^T
    const Value scaled = world_.multiply(swapped(parts[2]), new_axis(world_.inverted(parts[1], least), -2));
    return back(world_.matmul(scaled, swapped(parts[0])), x);
  }
  Value det(const Value& x) { return back(run({DecompositionKind::kDeterminant}, {matrix("det", x)})[0], x); }
  std::pair<Value, Value> slogdet(const Value& x) {
    const auto parts = run({DecompositionKind::kLogDeterminant}, {matrix("slogdet", x)});
    return {back(parts[0], x), back(parts[1], x)};
  }
  std::pair<Value, Value> qr(const Value& x, bool complete) {
    const auto parts = run({.kind = DecompositionKind::kQr, .full = complete}, {matrix("qr", x)});
    return {back(parts[0], x), back(world_.triangle(parts[1], 0, false), x)};
  }
  std::vector<Value> svd(const Value& x, bool full) {
    auto parts = run({.kind = DecompositionKind::kSvd, .full = full}, {matrix("svd", x)});
    for (Value& part : parts) part = back(part, x);
    return parts;
  }
  std::pair<Value, Value> eigh(const Value& x, bool lower) {
    const Value given = matrix("eigh", x);
    const auto parts = run({DecompositionKind::kEigh}, {lower ? given : swapped(given)});
    return {back(parts[0], x), back(parts[1], x)};
  }
  /// Order, L, U.
  std::vector<Value> lu(const Value& x) {
    const auto parts = run({DecompositionKind::kLu}, {matrix("lu", x)});
    return {world_.cast(parts[1], int64), back(world_.with_ones(world_.triangle(parts[0], -1, true)), x), back(world_.triangle(parts[0], 0, false), x)};
  }
  /// x as it is, if it has matrices.
  Value checked(const char* name, const Value& x) const {
    if (world_.dims(x).rank() < 2) throw ShapeError(std::string(name) + ": x is no matrix: " + world_.describe(x), "give it two axes or more");
    return x;
  }

 private:
  static DType computed_in(DType dtype) { return is_half(dtype) ? float32 : is_floating(dtype) ? dtype : float64; }
  Value matrix(const char* name, const Value& x) const { return in(checked(name, x), computed_in(world_.dtype_of(x))); }
  Value in(const Value& x, DType dtype) const { return world_.dtype_of(x) == dtype ? x : world_.cast(x, dtype); }
  /// In the dtype that the operand had, if that is floating.
  Value back(const Value& result, const Value& given) const { return is_floating(world_.dtype_of(given)) ? in(result, world_.dtype_of(given)) : result; }

  std::vector<Value> run(const Decomposition& what, std::vector<Value> values) const { return world_.apply(what, values); }

  Value swapped(const Value& x) const {
    std::vector<int> pattern = identity(x);
    std::swap(pattern[pattern.size() - 1], pattern[pattern.size() - 2]);
    return world_.view(x, pattern);
  }
  std::vector<int> identity(const Value& x) const {
    std::vector<int> pattern(static_cast<std::size_t>(world_.dims(x).rank()));
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<int>(i);
    return pattern;
  }
  /// at: counted from behind, in the result.
  Value new_axis(const Value& x, int at) const {
    std::vector<int> pattern = identity(x);
    pattern.insert(pattern.end() + at + 1, kNewAxis);
    return world_.view(x, pattern);
  }
  Value with_rank(const Value& x, int rank) const {
    std::vector<int> pattern = identity(x);
    pattern.insert(pattern.begin(), static_cast<std::size_t>(rank) - pattern.size(), kNewAxis);
    return world_.view(x, pattern);
  }

  Value system(const Value& a, const Value& b, const Decomposition& what) const {
    checked(what.name(), a);
    if (world_.dims(b).rank() == 0) throw ShapeError(std::string(what.name()) + ": the right side has no axes: " + world_.describe(b), "give it as many rows as the matrix");
    const DType common = result_type(std::vector<Promotable>{{world_.dtype_of(a)}, {world_.dtype_of(b)}}), dtype = computed_in(common);
    const bool is_vector = world_.dims(b).rank() == 1;
    const Value column = is_vector ? new_axis(world_.right_side(what.name(), b, a), -1) : b;
    const int rank = std::max(world_.dims(a).rank(), world_.dims(column).rank());
    Value result = run(what, {with_rank(in(a, dtype), rank), with_rank(in(column, dtype), rank)})[0];
    if (is_vector) {
      std::vector<int> pattern = identity(result);
      pattern.pop_back();
      result = world_.view(result, pattern);
    }
    return is_floating(common) ? in(result, common) : result;
  }

  World world_;
};

}  // namespace damo
