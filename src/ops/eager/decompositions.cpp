#include <damo/array_decompositions.hpp>

#include <damo/array_create.hpp>
#include <damo/array_linalg.hpp>
#include <damo/array_math.hpp>
#include <damo/array_reduce.hpp>
#include <damo/array_shape.hpp>

#include "graph/base/computed_dtype.hpp"
#include "ops/both_worlds.hpp"
#include "ops/decompositions/decompositions.hpp"
#include "ops/diagonal.hpp"

namespace damo {
namespace {

struct FactoredArrays {
  using Value = Array;

  const Shape& dims(const Array& v) const { return v.shape(); }
  DType dtype_of(const Array& v) const { return v.dtype(); }
  std::string describe(const Array& v) const { return damo::describe(v); }
  Array cast(const Array& v, DType dtype) const { return astype(v, dtype); }
  Array view(const Array& v, const std::vector<int>& pattern) const { return dimshuffle(v, pattern); }
  std::vector<Array> apply(const Decomposition& what, const std::vector<Array>& values) const {
    std::vector<Shape> shapes;
    for (const Array& value : values) shapes.push_back(value.shape());
    std::vector<Array> results;
    for (const Shape& shape : what.shapes(shapes)) results.push_back(Array::empty(shape, values[0].dtype(), values[0].device()));
    DecompositionNumbers numbers;
    what.compute(values, results, numbers);
    return results;
  }
  const Array& right_side(const char* name, const Array& b, const Array& a) const {
    require_rows(name, a.shape(), b.shape());
    return b;
  }
  Array multiply(const Array& v, const Array& w) const { return mul(v, w); }
  Array matmul(const Array& v, const Array& w) const { return damo::matmul(v, w); }
  Array triangle(const Array& v, std::int64_t diagonal, bool lower) const {
    const std::int64_t far = near_diagonal(diagonal);
    const Array row = arange(far, v.shape()[-2] + far, 1, int64, v.device()), column = arange(0, v.shape()[-1], 1, int64, v.device());
    const Array bound = expand_dims(row, 1);
    return where(lower ? le(column, bound) : ge(column, bound), v, Array::scalar(Scalar(0).cast(v.dtype()), v.device()));
  }
  Array with_ones(const Array& v) const { return v + eye(v.shape()[-1], {}, 0, v.dtype(), v.device()); }
  Array inverted(const Array& values, double rcond) const {
    if (values.size() == 0) return values;
    const Array is_small = le(values, mul(max(values, -1, true), rcond));
    return where(is_small, 0, reciprocal(where(is_small, 1, values)));
  }
};

/// x, if it has elements to work on, and the second lies where the first does.
const Array& given(const char* name, const Array& x) {
  if (!x) throw TypeError(std::string(name) + ": an operand is an empty Array", "check the Array with if (array)");
  require_computed(name, x.dtype());
  return x;
}
const Array& beside(const char* name, const Array& x, const Array& y) {
  if (!(given(name, x).device() == given(name, y).device())) {
    throw DeviceError(std::string(name) + ": operands lie on " + x.device().name() + " and " + y.device().name(), "move one of them: x.to(device)");
  }
  return y;
}
Decompositions<FactoredArrays> decompositions() { return Decompositions(FactoredArrays{}); }

}  // namespace

Array cholesky(const Array& x, bool lower) { return decompositions().cholesky(given("cholesky", x), lower); }
Array solve(const Array& a, const Array& b) {
  return asked_at_once("solve", [&] { return decompositions().solve(a, beside("solve", a, b)); }, a, b);
}
Array solve_triangular(const Array& a, const Array& b, bool lower, bool transposed, bool unit_diagonal) {
  return asked_at_once("solve_triangular", [&] { return decompositions().solve_triangular(a, beside("solve_triangular", a, b), lower, transposed, unit_diagonal); }, a, b);
}
Array cholesky_solve(const Array& l, const Array& b) {
  return asked_at_once("cholesky_solve", [&] { return decompositions().cholesky_solve(l, beside("cholesky_solve", l, b)); }, l, b);
}
Array inv(const Array& x) { return decompositions().inv(given("inv", x)); }
Array pinv(const Array& x, std::optional<double> rcond) { return decompositions().pinv(given("pinv", x), rcond); }
Array det(const Array& x) { return decompositions().det(given("det", x)); }
SignAndLogarithmArrays slogdet(const Array& x) {
  auto [sign, logarithm] = decompositions().slogdet(given("slogdet", x));
  return {sign, logarithm};
}
QrArrays qr(const Array& x, bool complete) {
  auto [q, r] = decompositions().qr(given("qr", x), complete);
  return {q, r};
}
SingularValueArrays svd(const Array& x, bool full_matrices) {
  const auto parts = decompositions().svd(given("svd", x), full_matrices);
  return {parts[0], parts[1], parts[2]};
}
EigenvalueArrays eigh(const Array& x, bool lower) {
  auto [values, vectors] = decompositions().eigh(given("eigh", x), lower);
  return {values, vectors};
}
LuArrays lu(const Array& x) {
  const auto parts = decompositions().lu(given("lu", x));
  return {parts[0], parts[1], parts[2]};
}

Array tril(const Array& x, std::int64_t diagonal) { return FactoredArrays{}.triangle(decompositions().checked("tril", given_array("tril", x)), diagonal, true); }
Array triu(const Array& x, std::int64_t diagonal) { return FactoredArrays{}.triangle(decompositions().checked("triu", given_array("triu", x)), diagonal, false); }
Array diagonal(const Array& x) {
  const Array matrices = decompositions().checked("diagonal", given_array("diagonal", x));
  Shape shape = matrices.shape();
  Strides strides = matrices.strides();
  if (shape[-2] != shape[-1]) throw ShapeError("diagonal: a matrix of " + to_string(shape) + " is not square", "slice it: a diagonal is of two axes of one extent");
  strides[strides.rank() - 2] += strides[strides.rank() - 1];
  shape.erase(shape.rank() - 1);
  strides.erase(strides.rank() - 1);
  return matrices.view(matrices.dtype(), shape, strides, 0);
}
Array trace(const Array& x) {
  if (x && x.rank() < 2) throw ShapeError("trace: x is no matrix: " + describe(x), "give it two axes or more");
  return sum(diagonal(x), -1);
}

}  // namespace damo
