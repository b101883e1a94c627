// Ops that keep the elements and their order and change the axes.
#include <string>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/specify_shape.hpp>
#include "graph/user_line.hpp"
#include "ops/given_shape_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/reshape_op.hpp"
#include "runtime/array/view_layout.hpp"

namespace damo {
namespace {

/// The elements of x in the shape of y.
class ReshapeLikeOp final : public ReshapingOp {
 public:
  std::string name() const override { return "reshape_like"; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {in_order(inputs), inputs.at(1)}, {{inputs.at(0).dtype(), inputs.at(1).dims()}}};
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    return Gradients({Gradient(reshape_like(output_gradients[0], node.input(0), node.where())), Gradient::disconnected()});
  }

 private:
  Shape shape(std::span<const Layout> inputs) const override { return complete_shape(inputs[0].shape, inputs[1].shape); }
};

class SpecifyShapeOp final : public GivenShapeOp {
 public:
  using GivenShapeOp::GivenShapeOp;
  std::string name() const override { return "specify_shape"; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    shape_of(inputs[0].shape);
    return inputs[0];
  }
  Gradients gradient(const Apply&, std::span<const Variable> output_gradients) const override { return Gradients(output_gradients[0]); }

 private:
  Shape shape_of(const Shape& x) const override { return specified_shape(x, given()); }
};

}  // namespace

Op::Layout BroadcastToOp::view_layout(const Apply&, std::span<const Layout> inputs) const {
  const ViewLayout view = broadcast_layout({inputs[0].shape, inputs[0].strides, inputs[0].offset}, given());
  static_cast<void>(view.shape.size());  // throws for one that is too large, as where shapes are known sooner
  return {view.shape, view.strides, view.offset};
}

Gradients BroadcastToOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  return Gradients(sum_to(output_gradients[0], node.input(0).dims(), node.where()));
}

Shape BroadcastToOp::shape_of(const Shape& x) const { return stretched_shape(x, given()); }

Shape specified_shape(const Shape& x, const Shape& given) {
  Shape to = x;
  bool fits = x.rank() == given.rank();
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    if (to[axis] == kUnknown) to[axis] = given[axis];
    fits = given[axis] == kUnknown || to[axis] == given[axis];
  }
  if (!fits) throw ShapeError("specify_shape: " + to_string(x) + " is not the " + to_string(given) + " that was declared", "give that shape, or declare kUnknown where other extents may come");
  return to;
}

std::pair<int, int> flattened_axes(int first, int last, int rank) {
  const int from = normalize_axis("flatten", first, rank), to = normalize_axis("flatten", last, rank);
  if (from > to) throw ShapeError("flatten: axis " + std::to_string(first) + " comes after axis " + std::to_string(last), "swap the two");
  return {from, to};
}

Variable reshape_like(const Variable& g, const Variable& x, SourceLine line) {
  if (x.dims().is_known()) return reshape(At(line)(g), x.dims());
  static const auto op = std::make_shared<const ReshapeLikeOp>();
  const Variable inputs[] = {g, x};
  return op->apply(inputs, line).output();
}

namespace {

Variable reshaped(std::shared_ptr<const Op> op, const Operand& x) {
  return asked(op->name(), [&] {
    const Variable inputs[] = {x.as(x.promotable().dtype)};
    return op->apply(inputs, x.where()).output();
  }, x);
}

}  // namespace

Variable reshape(const Operand& x, const Shape& shape) { return reshaped(std::make_shared<const ReshapeOp>(shape), x); }
Variable broadcast_to(const Operand& x, const Shape& shape) { return reshaped(std::make_shared<const BroadcastToOp>(shape), x); }

Variable specify_shape(const Operand& x, const Shape& shape) {
  return asked("specify_shape", [&] {
    for (std::int64_t extent : shape) {
      if (extent < kUnknown) throw ShapeError("specify_shape: an extent is " + std::to_string(extent), "give 0 or more, or kUnknown");
    }
    Variable declared = reshaped(std::make_shared<const SpecifyShapeOp>(shape), x);
    return declared.dims() == x.as(x.promotable().dtype).dims() ? x.as(x.promotable().dtype) : declared;
  }, x);
}

Variable flatten(const Operand& x, int first, int last) {
  const int rank = x.is_number() ? 0 : x.variable().rank();
  if (rank == 0) return reshape(x, {1});
  return asked("flatten", [&] {
    const auto [from, to] = flattened_axes(first, last, rank);
    return reshaped(std::make_shared<const FlattenOp>(from, to), x);
  }, x);
}

}  // namespace damo
