// Tensors side by side, and back into their parts.
#include <algorithm>
#include <string>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "graph/user_line.hpp"
#include "ops/checked_shapes_op.hpp"
#include "ops/concatenate_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/promotion.hpp"
#include "ops/roll_op.hpp"
#include "ops/subtensor_op.hpp"
#include "ops/window_thunk.hpp"

namespace damo {
namespace {

/// x, whose extent along an axis is that of its parts together: where it shows at the call alone it is compared there.
class WholeOp final : public CheckedShapesOp {
 public:
  WholeOp(int axis, std::int64_t extent) : axis_(axis), extent_(extent) {}
  std::string name() const override { return "whole"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"extent", extent_}}; }
  void require(std::span<const Shape> shapes) const override { require_parts(std::span(&extent_, 1), axis_, shapes[0][axis_]); }

 private:
  Shape checked(const Shape& x) const override {
    Shape to = x;
    to[axis_] = extent_;
    return to;
  }
  int axis_;
  std::int64_t extent_;
};

/// Whether two shapes, of which extents may be unknown, can be one.
bool may_be_equal(const Shape& a, const Shape& b) {
  bool may = a.rank() == b.rank();
  for (int axis = 0; may && axis < a.rank(); ++axis) may = a[axis] == b[axis] || a[axis] == kUnknown || b[axis] == kUnknown;
  return may;
}

/// Of what is stacked.
void require_one_shape(std::span<const Shape> shapes) {
  for (const Shape& shape : shapes) {
    if (may_be_equal(shape, shapes.front())) continue;
    throw ShapeError("stack: " + to_string(shape) + " is another shape than " + to_string(shapes.front()), "broadcast_to or reshape makes them equal");
  }
}

void require_some(const std::string& name, std::span<const Shape> shapes) {
  if (shapes.empty()) throw GraphError(name + ": there are no tensors", "give at least one");
}

std::vector<Variable> promoted(std::span<const Variable> tensors, SourceLine line) {
  std::vector<Promotable> dtypes;
  for (const Variable& tensor : tensors) dtypes.push_back({tensor.dtype()});
  std::vector<Variable> same;
  for (const Variable& tensor : tensors) same.push_back(cast_at(tensor, result_type(dtypes), line));
  return same;
}

std::vector<Shape> dims_of(std::span<const Variable> tensors, const char* name) {
  std::vector<Shape> dims;
  for (const Variable& tensor : tensors) {
    if (!tensor) throw GraphError(std::string(name) + ": a Variable is empty", "assign it before it is used");
    dims.push_back(tensor.dims());
  }
  return dims;
}

}  // namespace

int concatenated_axis(std::span<const Shape> shapes, int axis) {
  require_some("concatenate", shapes);
  const int rank = shapes.front().rank();
  if (rank == 0) throw ShapeError("concatenate: tensors of rank 0 have no axis to lie along", "stack them");
  const int along = normalize_axis("concatenate", axis, rank, "each tensor");
  for (const Shape& shape : shapes) {
    if (shape.rank() != rank) throw ShapeError("concatenate: " + to_string(shape) + " has another number of axes than " + to_string(shapes.front()), "expand_dims or reshape gives it as many");
  }
  return along;
}

Shape side_by_side(std::span<const Shape> shapes, int axis) {
  Shape all = shapes.front();
  std::int64_t along = 0;
  for (const Shape& shape : shapes) {
    bool fits = shape.rank() == all.rank();
    for (int i = 0; fits && i < all.rank(); ++i) {
      if (i == axis || shape[i] == kUnknown) continue;
      if (all[i] == kUnknown) all[i] = shape[i];
      fits = all[i] == shape[i];
    }
    if (!fits) throw ShapeError("concatenate: " + to_string(shape) + " does not fit to " + to_string(all) + " along axis " + std::to_string(axis), "all axes but that one have the same extents: broadcast_to, pad or transpose one of them");
    along = along == kUnknown || shape[axis] == kUnknown ? kUnknown : along + shape[axis];
  }
  all[axis] = along;
  return all;
}

int stacked_axis(std::span<const Shape> shapes, int axis) {
  require_some("stack", shapes);
  require_one_shape(shapes);
  return normalize_axis("stack", axis, shapes.front().rank() + 1, "the result");
}

std::int64_t require_parts(std::span<const std::int64_t> sizes, int axis, std::int64_t extent) {
  std::int64_t sum = 0;
  const std::string along = " elements along axis " + std::to_string(axis);
  for (std::int64_t size : sizes) {
    if (size < 0) throw ShapeError("split: a part has " + std::to_string(size) + " elements", "sizes are 0 or more");
    if (__builtin_add_overflow(sum, size, &sum)) throw ShapeError("split: the parts have more than 2^63" + along, "sizes add up to x's extent");
  }
  if (extent != kUnknown && extent != sum) throw ShapeError("split: the parts have " + std::to_string(sum) + along + ", x has " + std::to_string(extent), "sizes add up to x's extent");
  return sum;
}

/// Stacked ones lie in order along an axis that nobody has given them: errors tell their shapes without it.
Shape ConcatenateOp::shape_of(std::span<const Shape> inputs) const {
  if (is_stack_) {
    std::vector<Shape> given(inputs.begin(), inputs.end());
    for (Shape& shape : given) shape.erase(axis_);
    require_one_shape(given);
  }
  return side_by_side(inputs, axis_);
}

Apply ConcatenateOp::make_node(Inputs inputs) const {
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) shapes.push_back(input.dims());
  return {*this, {inputs.begin(), inputs.end()}, {{inputs.at(0).dtype(), shape_of(shapes)}}};
}

Shapes ConcatenateOp::infer_shape(const Apply&, std::span<const Shape> inputs) const { return {{shape_of(inputs)}}; }

Thunk ConcatenateOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return window_thunk(node, context, WindowWrite::kSetApart, [axis = axis_](std::span<const Layout> inputs, const Layout& output) {
    std::vector<Window> windows;
    std::int64_t first = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int64_t count = inputs[i].shape[axis];
      windows.push_back({static_cast<int>(i), inputs[i], between(output, axis, first, count)});
      first += count;
    }
    return windows;
  });
}

std::optional<Op::Layout> ConcatenateOp::place_in_output(int input, std::span<const Shape> inputs, const Layout& output) const {
  std::int64_t first = 0;
  for (int i = 0; i < input; ++i) first += inputs[static_cast<std::size_t>(i)][axis_];
  return between(output, axis_, first, inputs[static_cast<std::size_t>(input)][axis_]);
}

Gradients ConcatenateOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  std::vector<Variable> inputs{output_gradients[0]};
  inputs.insert(inputs.end(), node.inputs().begin(), node.inputs().end());
  std::vector<Variable> parts;
  for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
    parts.push_back(std::make_shared<const PartOp>(axis_, i)->apply(inputs, node.where()).output());
  }
  return parts;
}

Apply PartOp::make_node(Inputs inputs) const {
  return {*this, {inputs.begin(), inputs.end()}, {{inputs.at(0).dtype(), inputs.at(part_ + 1).dims()}}};
}

Op::Layout PartOp::view_layout(const Apply&, std::span<const Layout> inputs) const {
  std::int64_t first = 0;
  for (int i = 1; i <= part_; ++i) first += inputs[static_cast<std::size_t>(i)].shape[axis_];
  return between(inputs[0], axis_, first, inputs[static_cast<std::size_t>(part_) + 1].shape[axis_]);
}

/// Zeros beside g.
Gradients PartOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  std::vector<Variable> parts;
  for (int i = 1; i < static_cast<int>(node.inputs().size()); ++i) {
    parts.push_back(i == part_ + 1 ? output_gradients[0] : zeros_like(node.input(i), node.where()));
  }
  Gradients gradients(node.inputs().size(), Gradient::disconnected());
  gradients[0] = concatenate(parts, axis_, node.where());
  return gradients;
}

Variable concatenate(std::span<const Variable> tensors, int axis, SourceLine where) {
  return asked("concatenate", [&] {
    const int along = concatenated_axis(dims_of(tensors, "concatenate"), axis);
    return std::make_shared<const ConcatenateOp>(along)->apply(promoted(tensors, where), where).output();
  }, tensors, where);
}

Variable stack(std::span<const Variable> tensors, int axis, SourceLine where) {
  return asked("stack", [&] {
    const int at = stacked_axis(dims_of(tensors, "stack"), axis);
    std::vector<Variable> expanded;
    for (const Variable& tensor : promoted(tensors, where)) expanded.push_back(expand_dims(At(where)(tensor), at));
    return std::make_shared<const ConcatenateOp>(at, true)->apply(expanded, where).output();
  }, tensors, where);
}

std::vector<Variable> split(const Operand& x, std::span<const std::int64_t> sizes, int axis) {
  return asked("split", [&] {
    const Variable given = x.as(x.promotable().dtype);
    const int along = normalize_axis("split", axis, given.rank());
    const std::int64_t sum = require_parts(sizes, along, given.dims()[along]);
    const At at(x.where());
    const Variable whole = given.dims()[along] == sum ? given : checked_shapes(std::make_shared<const WholeOp>(along, sum), std::span(&given, 1), x.where());
    std::int64_t first = 0;
    std::vector<Variable> parts;
    for (std::int64_t size : sizes) {
      parts.push_back(subtensor(at(whole), indices_of_part(along, first, size)));
      first += size;
    }
    return parts;
  }, x);
}

Variable roll(const Operand& x, std::int64_t shift, int axis) {
  const Variable inputs[] = {x.as(x.promotable().dtype)};
  const int along = asked("roll", [&] { return normalize_axis("roll", axis, inputs[0].rank()); }, x);
  const auto places = static_cast<std::uint64_t>(shift);
  return std::make_shared<const RollOp>(along, shift < 0 ? 0 - places : places, shift >= 0)->apply(inputs, x.where()).output();
}

}  // namespace damo
