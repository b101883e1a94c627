#include "ops/decompositions/decomposition_op.hpp"

#include <memory>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/decompositions.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>

#include "ops/gradient_parts.hpp"

namespace damo {
namespace {

using enum DecompositionKind;

/// Matrices of a gradient's rule, at one line.
class Rules {
 public:
  Rules(const Apply& node, std::span<const Variable> g) : node_(node), g_(g), at_(node.where()) {}

  /// Murray 2016, eq. 9 and 10, of a method that reads the lower triangle alone.
  Variable cholesky() const {
    const Variable l = tril(at_(node_.output()));
    const Variable p = half_diagonal(lower(product(turned(l), g_[0])));
    const Variable left = triangular(l, p, true);                      // L^-T P
    const Variable s = turned(triangular(l, turned(left), true));      // L^-T P L^-1
    return half_diagonal(lower(sum(s, turned(s))));
  }
  Gradients solve(const Decomposition& what) const {
    const Variable& a = node_.input(0);
    const bool triangle = what.kind == kSolveTriangular;
    Decomposition reverse = what;
    reverse.transposed = triangle && !what.transposed;  // of general matrices a itself is turned
    const Variable inputs[] = {triangle ? a : turned(a), g_[0]};
    const Variable of_b = decompose(reverse, inputs, node_.where())[0], x = node_.output();
    Variable of_a = what.transposed ? product(x, turned(of_b)) : product(of_b, turned(x));
    of_a = neg(at_(of_a));
    if (triangle) {
      const std::int64_t beside = what.unit_diagonal ? 1 : 0;
      of_a = what.lower ? tril(at_(of_a), -beside) : triu(at_(of_a), beside);
    }
    return std::vector<Variable>{sum_to(of_a, a.dims(), node_.where()), sum_to(of_b, node_.input(1).dims(), node_.where())};
  }
  Variable inverse() const {
    const Variable y = turned(node_.output());
    return neg(at_(product(y, product(g_[0], y))));
  }
  Variable determinant() const { return times(turned(inv(at_(node_.input(0)))), matrix(times(g_[0], node_.output()))); }
  Variable logarithm() const { return times(turned(inv(at_(node_.input(0)))), matrix(g_[1])); }

  /// Walter and Lehmann 2012: (g_Q + Q copyltu(M)) R^-T with M = R g_R^T - g_Q^T Q, where copyltu mirrors the lower triangle.
  Variable qr() const {
    const Variable q = node_.output(0), r = triu(at_(node_.output(1)));
    const Variable m = difference(product(r, turned(triu(at_(g_[1])))), product(turned(g_[0]), q));
    const Variable mirrored = sum(lower(m), turned(tril(at_(m), -1)));
    const Variable both = sum(g_[0], product(q, mirrored));
    return turned(triangular(r, turned(both), false));
  }

  /// Giles 2008, section 2.3, in Townsend's form (2016) for the lesser of both extents.
  Variable svd() const {
    const Variable u = node_.output(0), s = node_.output(1), v = turned(node_.output(2)), &gu = g_[0], &gs = g_[1], gv = turned(g_[2]);
    const Variable squares = times(s, s), f = one_over_differences(squares), rows = row(s), columns = column(s);
    const Variable ones = reciprocal_or_zero(s);
    const Variable of_u = times(f, antisymmetric(product(turned(u), gu))), of_v = times(f, antisymmetric(product(turned(v), gv)));
    const Variable middle = on_diagonal(sum(times(of_u, rows), times(of_v, columns)), gs);
    Variable result = product(u, product(middle, turned(v)));
    const Variable beside_u = times(difference(gu, product(u, product(turned(u), gu))), row(ones));
    const Variable beside_v = times(difference(gv, product(v, product(turned(v), gv))), row(ones));
    return sum(result, sum(product(beside_u, turned(v)), product(u, turned(beside_v))));
  }

  /// Giles 2008, section 2.2, of a method that reads the lower triangle alone.
  Variable eigh() const {
    const Variable w = node_.output(0), v = node_.output(1);
    const Variable middle = on_diagonal(times(one_over_differences(w), product(turned(v), g_[1])), g_[0]);
    const Variable s = product(v, product(middle, turned(v)));
    return half_diagonal(lower(sum(s, turned(s))));
  }

  /// Of x with its rows in order: L^-T (tril(L^T g_L, -1) + triu(g_U U^T)) U^-T; then each row goes back to its place.
  Variable lu() const {
    const Variable &both = node_.output(0), u = triu(at_(both)), ones = cast(at_(is_diagonal(both)), both.dtype()), l = sum(tril(at_(both), -1), ones);
    const Variable middle = sum(tril(at_(product(turned(l), tril(at_(g_[0]), -1))), -1), triu(at_(product(triu(at_(g_[0])), turned(u)))));
    const Variable left = solve_triangular(at_(l), at_(middle), true, true, true), inner = turned(triangular(u, turned(left), false));
    const Variable places = cast(at_(eq(at_(column(node_.output(1))), at_(index_along(at_(both), {-1})))), both.dtype());
    return product(turned(places), inner);
  }

 private:
  Variable turned(const Variable& x) const { return swap_axes(at_(x), -1, -2); }
  Variable product(const Variable& x, const Variable& y) const { return matmul(at_(x), at_(y)); }
  Variable times(const Variable& x, const Variable& y) const { return mul(at_(x), at_(y)); }
  Variable sum(const Variable& x, const Variable& y) const { return add(at_(x), at_(y)); }
  Variable difference(const Variable& x, const Variable& y) const { return sub(at_(x), at_(y)); }
  Variable lower(const Variable& x) const { return tril(at_(x)); }
  Variable row(const Variable& values) const { return expand_dims(at_(values), -2); }
  Variable column(const Variable& values) const { return expand_dims(at_(values), -1); }
  Variable matrix(const Variable& numbers) const { return column(column(numbers)); }
  Variable antisymmetric(const Variable& x) const { return difference(x, turned(x)); }
  Variable triangular(const Variable& a, const Variable& b, bool lower_transposed) const {
    return solve_triangular(at_(a), at_(b), lower_transposed, lower_transposed);
  }
  Variable is_diagonal(const Variable& x) const { return eq(at_(index_along(at_(x), {-1})), at_(index_along(at_(x), {-2}))); }
  Variable half_diagonal(const Variable& x) const { return where(at_(is_diagonal(x)), at_(mul(at_(x), 0.5)), at_(x)); }
  Variable on_diagonal(const Variable& x, const Variable& diagonal) const { return where(at_(is_diagonal(x)), at_(row(diagonal)), at_(x)); }
  /// 1 / (values[j] - values[i]) at (i, j), 0 where they are equal.
  Variable one_over_differences(const Variable& values) const { return reciprocal_or_zero(difference(row(values), column(values))); }
  Variable reciprocal_or_zero(const Variable& x) const {
    const Variable is_zero = eq(at_(x), 0);
    return where(at_(is_zero), 0, at_(reciprocal(at_(where(at_(is_zero), 1, at_(x))))));
  }

  const Apply& node_;
  std::span<const Variable> g_;
  At at_;
};

}  // namespace

Props DecompositionOp::props() const {
  Props props{{"kind", std::int64_t{static_cast<int>(what_.kind)}}};
  if (what_.full) props.push_back({"full", true});
  if (what_.kind == kSolveTriangular) {
    props.push_back({"lower", what_.lower});
    props.push_back({"transposed", what_.transposed});
    props.push_back({"unit_diagonal", what_.unit_diagonal});
  }
  return props;
}

Apply DecompositionOp::make_node(Inputs inputs) const {
  inputs.require_count(what_.input_count());
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) {
    require_dtype(input, inputs.at(0).dtype());
    require_rank(input, inputs.at(0).rank());
    shapes.push_back(input.dims());
  }
  std::vector<TensorType> types;
  for (const Shape& shape : what_.shapes(shapes)) types.push_back({inputs.at(0).dtype(), shape});
  return {*this, {inputs.begin(), inputs.end()}, types};
}

Shapes DecompositionOp::infer_shape(const Apply& node, std::span<const Shape> inputs) const {
  if (inputs.size() == 2) {  // as elsewhere in a graph: which batches stretch is known from the types
    const auto batches = [](const Shape& shape) { return Shape(std::span(shape.begin(), static_cast<std::size_t>(shape.rank() - 2))); };
    const Shape dims[] = {batches(node.input(0).dims()), batches(node.input(1).dims())}, shapes[] = {batches(inputs[0]), batches(inputs[1])};
    broadcast_values(dims, shapes);
  }
  return what_.shapes(inputs);
}

Thunk DecompositionOp::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<const Cell*> inputs;
  std::vector<Cell*> outputs;
  for (const Variable& input : node.inputs()) inputs.push_back(&context.storage(input));
  for (const Variable& output : node.outputs()) outputs.push_back(&context.storage(output));
  context.foresee_memory([what = what_, inputs, outputs, device = context.device()] {
    std::vector<Shape> given, made;
    for (const Cell* cell : inputs) given.push_back(cell->shape());
    for (const Cell* cell : outputs) made.push_back(cell->shape());
    return ThunkMemory{.workspace = what.workspace_bytes(device.backend(), inputs[0]->dtype(), given, made)};
  });
  struct State {
    std::vector<Array> given, results;
    DecompositionNumbers numbers;
  };
  return [what = what_, inputs, outputs, state = std::make_shared<State>()] {
    state->given.clear(), state->results.clear();
    for (const Cell* cell : inputs) state->given.push_back(cell->array());
    for (const Cell* cell : outputs) state->results.push_back(cell->array());
    what.compute(state->given, state->results, state->numbers);
    state->given.clear(), state->results.clear();  // the cells' Arrays are the Context's
  };
}

Gradients DecompositionOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Rules rules(node, output_gradients);
  switch (what_.kind) {
    case kCholesky: return rules.cholesky();
    case kSolve:
    case kSolveTriangular: return rules.solve(what_);
    case kInverse: return rules.inverse();
    case kDeterminant: return rules.determinant();
    case kLogDeterminant: return rules.logarithm();
    case kQr: {
      const Shape& x = node.input(0).dims();
      if (what_.full) return Gradients{Gradient::not_defined("complete factors are not determined by the matrix: use qr(x)")};
      if (x[-2] != kUnknown && x[-1] != kUnknown && x[-2] < x[-1]) return Gradients{Gradient::not_defined("of a matrix with more columns than rows there is no rule for it")};
      return rules.qr();
    }
    case kSvd:
      if (what_.full) return Gradients{Gradient::not_defined("full matrices are not determined by x: use svd(x, false)")};
      return rules.svd();
    case kEigh: return rules.eigh();
    case kLu: return rules.lu();
  }
  return Gradients{Gradient::disconnected()};
}

std::vector<Variable> decompose(const Decomposition& what, std::span<const Variable> inputs, SourceLine line) {
  return std::make_shared<const DecompositionOp>(what)->apply(inputs, line).outputs();
}

}  // namespace damo
