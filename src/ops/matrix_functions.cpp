#include <damo/ops/matrix_functions.hpp>

#include <memory>

#include <damo/array_matrix_functions.hpp>
#include <damo/op.hpp>
#include <damo/ops/decompositions.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/linalg.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/checked_shapes_op.hpp"
#include "ops/decompositions/decompositions.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/matrix_functions_of.hpp"
#include "ops/reduce_op.hpp"
#include "ops/right_side_op.hpp"

namespace damo {
namespace {

using GraphMatrices = MatrixFunctionsOf<OfVariables>;

/// The vector of the numbers of x's columns, as many as it has rows; nothing of x is read but its shape, and there may be no element.
Variable row_numbers(const Variable& x) {
  const int last = x.rank() - 1;
  const Variable line = reduce(ReductionKind::kCount, x, (std::uint32_t{1} << last) - 1, {});  // (1, ..., 1, n)
  return dimshuffle(index_along(line, last), {last});
}

void require_square_matrices(const char* function, const Shape& x) {
  if (x[-1] != x[-2] && x[-1] != kUnknown && x[-2] != kUnknown) throw ShapeError(std::string(function) + ": matrices of " + to_string(x) + " are not square", "only square ones have powers");
}

/// The Array's expm, which asks the data how often to square.
class ExpmOp final : public Op {
 public:
  std::string name() const override { return "expm"; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    GraphMatrices::require_square("expm", inputs.at(0));
    return {*this, {inputs.at(0)}, {inputs.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    require_square_matrices("expm", inputs[0]);
    return {{inputs[0]}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell& x = context.storage(node.input(0));
    Cell& out = context.storage(node.output());
    return [&x, &out] { copy_into(out.array(), damo::expm(x.array())); };
  }
  /// The integral of e^(t A^T) g e^((1 - t) A^T) stands in the upper right of e^[[A^T, g], [0, A^T]].
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const BuiltAt here(node.where());
    const Variable &x = node.input(0), turned = swap_axes(x, -1, -2), &g = output_gradients[0];
    const int rank = x.rank();
    const Variable all = damo::expm(concatenate({concatenate({turned, g}, rank - 1), concatenate({zeros_like(g), turned}, rank - 1)}, rank - 2));
    const Variable rows = row_numbers(x);
    return take(take(all, rows, rank - 2), add(rows, OfVariables::extent(x, rank - 1)), rank - 1);
  }
};

class SquareMatricesOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "square_matrices"; }
  void require(std::span<const Shape> shapes) const override { require_square_matrices("matrix_power", shapes[0]); }
};

}  // namespace

Variable kron(const Operand& x, const Operand& y) {
  const BuiltAt here(x.where());
  return asked("kron", [&] { return GraphMatrices::kron(given_variable(x), given_variable(y)); }, x, y);
}
Variable matrix_power(const Operand& x, int n) {
  const BuiltAt here(x.where());
  return asked("matrix_power", [&] {
    const Variable given = given_variable(x);
    GraphMatrices::require_square("matrix_power", given);
    return GraphMatrices::matrix_power(checked_shapes(std::make_shared<const SquareMatricesOp>(), std::span(&given, 1), x.where()), n);
  }, x);
}
Variable expm(const Operand& x) {
  const BuiltAt here(x.where());
  const Variable given = given_variable(x), wide = OfVariables::converted(given, computed_dtype(given.dtype()));
  const Variable result = asked("expm", [&] { return std::make_shared<const ExpmOp>()->apply(std::span(&wide, 1), x.where()).output(); }, x);
  return is_floating(given.dtype()) ? OfVariables::converted(result, given.dtype()) : result;
}

LeastSquares lstsq(const Operand& a, const Operand& b, std::optional<double> rcond) {
  const BuiltAt here(a.where());
  return asked("lstsq", [&]() -> LeastSquares {
    const Variable x = given_variable(a), right = given_variable(b);
    require_system(x, right, x.dims(), right.dims());
    const Variable operands[] = {right, x}, y = checked_shapes(std::make_shared<const RightSideOp>(), operands, a.where());
    const DType common = result_type(std::vector<Promotable>{{x.dtype()}, {y.dtype()}}), dtype = computed_dtype(common), shown = is_floating(common) ? common : dtype;
    const Variable wide = OfVariables::converted(x, dtype);
    const double least = least_share(x.dims(), dtype, rcond);
    const auto parts = GraphMatrices::lstsq(wide, OfVariables::converted(y, dtype), pinv(wide, least), svd(wide, false).values, least);
    return {OfVariables::converted(parts.solution, shown), OfVariables::converted(parts.residuals, shown), parts.rank, OfVariables::converted(parts.values, shown)};
  }, a, b);
}

}  // namespace damo
