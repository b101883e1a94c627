#include "ops/decompositions/decompositions.hpp"

#include <damo/custom_gradient.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/decompositions.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>

#include "graph/user_line.hpp"
#include "ops/decompositions/decomposition_op.hpp"
#include "ops/decompositions/pinv_gradient.hpp"
#include "ops/diagonal.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/right_side_op.hpp"

namespace damo {
namespace {

struct GraphWorld {
  using Value = Variable;
  SourceLine line;

  Operand at(const Variable& v) const { return At(line)(v); }
  const Shape& dims(const Variable& v) const { return v.dims(); }
  DType dtype_of(const Variable& v) const { return v.dtype(); }
  std::string describe(const Variable& v) const { return damo::describe(v); }
  Variable cast(const Variable& v, DType dtype) const { return damo::cast(at(v), dtype); }
  Variable view(const Variable& v, const std::vector<int>& pattern) const { return dimshuffle(at(v), pattern); }
  std::vector<Variable> apply(const Decomposition& what, const std::vector<Variable>& values) const { return decompose(what, values, line); }
  Variable right_side(const char*, const Variable& b, const Variable& a) const {
    const Variable operands[] = {b, a};
    return checked_shapes(std::make_shared<const RightSideOp>(), operands, line);
  }
  Variable multiply(const Variable& v, const Variable& w) const { return mul(at(v), at(w)); }
  Variable matmul(const Variable& v, const Variable& w) const { return damo::matmul(at(v), at(w)); }
  Variable triangle(const Variable& v, std::int64_t diagonal, bool lower) const {
    const Variable column = index_along(at(v), {-1}), bound = add(at(index_along(at(v), {-2})), near_diagonal(diagonal));
    return where(at(lower ? le(at(column), at(bound)) : ge(at(column), at(bound))), at(v), at(constant(Scalar(0).cast(v.dtype()), line)));  // 0 itself would make integers of bools
  }
  Variable with_ones(const Variable& v) const { return where(at(eq(at(index_along(at(v), {-1})), at(index_along(at(v), {-2})))), 1.0, at(v)); }
  /// 1 / value of those above rcond times the greatest, which of no values is 0, and 0 in place of the others; NaN of NaN, which is in all of them where it is in one.
  Variable inverted(const Variable& values, double rcond) const {
    std::vector<PadWidth> one_more(static_cast<std::size_t>(values.rank()));
    one_more.back().after = 1;
    const Variable greatest = max(at(pad(at(values), one_more, 0.0)), -1, true), is_small = le(at(values), at(mul(at(greatest), rcond)));
    return where(at(is_small), 0, at(reciprocal(at(where(at(is_small), 1, at(values))))));
  }
};

struct Given {
  explicit Given(const Operand& operand) : value(operand.as(operand.promotable().dtype)), line(operand.where()) {}
  Decompositions<GraphWorld> decompositions() const { return Decompositions<GraphWorld>({line}); }
  Variable value;
  SourceLine line;
};

/// build(x, more...), told of as `name`.
template <class Build, class... Operands>
auto factored(const char* name, const Build& build, const Operand& x, const Operands&... more) {
  return asked(name, [&] { return build(Given(x), Given(more).value...); }, x, more...);
}

}  // namespace

Variable cholesky(const Operand& x, bool lower) {
  return factored("cholesky", [&](const Given& given) { return given.decompositions().cholesky(given.value, lower); }, x);
}
Variable solve(const Operand& a, const Operand& b) {
  return factored("solve", [](const Given& given, const Variable& right) { return given.decompositions().solve(given.value, right); }, a, b);
}
Variable solve_triangular(const Operand& a, const Operand& b, bool lower, bool transposed, bool unit_diagonal) {
  return factored("solve_triangular", [&](const Given& given, const Variable& right) {
    return given.decompositions().solve_triangular(given.value, right, lower, transposed, unit_diagonal);
  }, a, b);
}
Variable cholesky_solve(const Operand& l, const Operand& b) {
  return factored("cholesky_solve", [](const Given& given, const Variable& right) { return given.decompositions().cholesky_solve(given.value, right); }, l, b);
}
Variable inv(const Operand& x) {
  return factored("inv", [](const Given& given) { return given.decompositions().inv(given.value); }, x);
}
Variable pinv(const Operand& x, std::optional<double> rcond) {
  return factored(
      "pinv", [&](const Given& given) {
        // The gradient is that of the dtype in which it is computed.
        const DType dtype = given.value.dtype();
        const Variable a = is_half(dtype) ? cast(At(given.line)(given.value), float32) : given.value, inverse = given.decompositions().pinv(a, rcond);
        if (!is_floating(dtype)) return inverse;
        const double least = least_share(a.dims(), a.dtype(), rcond);
        const Variable marked = with_gradient(
            inverse, {a}, [least, line = given.line](auto in, auto out, auto gradients) -> Gradients {
              const BuiltAt here(line);
              const SingularValues factors = svd(in[0], false);  // the inverse's own
              return {gradient_of_pinv(in[0], out[0], gradients[0], factors, GraphWorld{line}.inverted(factors.values, least), line)};
            },
            given.line);
        return is_half(dtype) ? cast(At(given.line)(marked), dtype) : marked;
      },
      x);
}
Variable det(const Operand& x) {
  return factored("det", [](const Given& given) { return given.decompositions().det(given.value); }, x);
}
SignAndLogarithm slogdet(const Operand& x) {
  auto [sign, logarithm] = factored("slogdet", [](const Given& given) { return given.decompositions().slogdet(given.value); }, x);
  return {sign, logarithm};
}
QrFactors qr(const Operand& x, bool complete) {
  auto [q, r] = factored("qr", [&](const Given& given) { return given.decompositions().qr(given.value, complete); }, x);
  return {q, r};
}
SingularValues svd(const Operand& x, bool full_matrices) {
  const auto parts = factored("svd", [&](const Given& given) { return given.decompositions().svd(given.value, full_matrices); }, x);
  return {parts[0], parts[1], parts[2]};
}
Eigenvalues eigh(const Operand& x, bool lower) {
  auto [values, vectors] = factored("eigh", [&](const Given& given) { return given.decompositions().eigh(given.value, lower); }, x);
  return {values, vectors};
}
LuFactors lu(const Operand& x) {
  const auto parts = factored("lu", [](const Given& given) { return given.decompositions().lu(given.value); }, x);
  return {parts[0], parts[1], parts[2]};
}

Variable tril(const Operand& x, std::int64_t diagonal) {
  return factored("tril", [&](const Given& given) { return GraphWorld{given.line}.triangle(given.decompositions().checked("tril", given.value), diagonal, true); }, x);
}
Variable triu(const Operand& x, std::int64_t diagonal) {
  return factored("triu", [&](const Given& given) { return GraphWorld{given.line}.triangle(given.decompositions().checked("triu", given.value), diagonal, false); }, x);
}
Variable diagonal(const Operand& x) {
  return factored("diagonal", [](const Given& given) {
    const int rank = given.decompositions().checked("diagonal", given.value).rank();
    return diagonal(given.value, rank - 2, rank - 1, given.line);
  }, x);
}
Variable trace(const Operand& x) {
  return factored("trace", [](const Given& given) { return sum(At(given.line)(diagonal(At(given.line)(given.decompositions().checked("trace", given.value)))), -1); }, x);
}

}  // namespace damo
