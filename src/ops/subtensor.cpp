#include <damo/ops/subtensor.hpp>

#include <algorithm>
#include <string>

#include <damo/op.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/index_plan.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/walks.hpp"
#include "ops/promotion.hpp"
#include "ops/subtensor_op.hpp"
#include "ops/window_thunk.hpp"
#include "runtime/array/view_layout.hpp"

namespace damo {

using Indices = std::vector<Index>;

namespace {

/// "[0, 1:5, ::-1]".
std::string to_string(const Indices& indices) {
  std::string text;
  for (const Index& index : indices) {
    text += text.empty() ? "[" : ", ";
    if (index.is_position()) {
      text += std::to_string(index.position());
      continue;
    }
    const Slice& slice = index.slice();
    if (slice.start) text += std::to_string(*slice.start);
    text += ":";
    if (slice.stop) text += std::to_string(*slice.stop);
    if (slice.step != 1) text += ":" + std::to_string(slice.step);
  }
  return text.empty() ? "[]" : text + "]";
}

/// The part of a tensor that indices name; extents may be unknown.
Op::Layout part_of(const std::string& user, const Indices& indices, const Op::Layout& x) {
  require_axes_for(user, indices.size(), x.shape.rank());
  Op::Layout part{{}, {}, x.offset};
  bool is_empty = false;
  for (int axis = 0; axis < x.shape.rank(); ++axis) {
    const Index index = static_cast<std::size_t>(axis) < indices.size() ? indices[static_cast<std::size_t>(axis)] : Index();
    const std::int64_t extent = x.shape[axis], stride = x.strides[axis];
    if (index.is_position()) {
      if (extent == kUnknown) continue;
      part.offset += position_on_axis(user, index.position(), axis, extent) * stride;
      continue;
    }
    const Slice& slice = index.slice();
    const SlicedAxis sliced = sliced_axis(slice, std::max<std::int64_t>(extent, 0), axis);
    part.shape.push_back(extent == kUnknown ? kUnknown : sliced.count);
    part.strides.push_back(sliced.count > 1 ? slice.step * stride : stride);  // else the step may be beyond any stride
    part.offset += sliced.first * stride;
    is_empty |= sliced.count == 0;
  }
  if (is_empty) part.offset = x.offset;  // no element, so no address to point at
  return part;
}

Shape part_dims(const std::string& user, const Indices& indices, const Shape& dims) { return part_of(user, indices, {dims, Shape::filled(dims.rank(), 0), 0}).shape; }

}  // namespace

Props SubtensorOp::props() const { return {{"indices", to_string(indices_)}}; }

Apply SubtensorOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), part_dims(name(), indices_, inputs.at(0).dims())}}};
}

Op::Layout SubtensorOp::view_layout(const Apply&, std::span<const Layout> inputs) const { return part_of(name(), indices_, inputs[0]); }

/// Zeros with g in the part.
Gradients SubtensorOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const At at(node.where());
  return set_subtensor(at(zeros_like(node.input(0), node.where())), indices_, at(output_gradients[0]));
}

std::string WriteSubtensorOp::name() const { return write_ == WindowWrite::kSet ? "set_subtensor" : "inc_subtensor"; }

Props WriteSubtensorOp::props() const { return {{"indices", to_string(indices_)}, {"adds", write_ == WindowWrite::kAdd}}; }

Apply WriteSubtensorOp::make_node(Inputs inputs) const {
  inputs.require_count(2);
  const Variable &x = inputs.at(0), &y = inputs.at(1);
  require_fits_part(name(), part_dims(name(), indices_, x.dims()), y.dims(), y.dims());
  return {*this, {x, y}, {x.type()}};
}

Shapes WriteSubtensorOp::infer_shape(const Apply& node, std::span<const Shape> inputs) const {
  require_fits_part(name(), part_dims(name(), indices_, inputs[0]), inputs[1], node.input(1).dims());
  return {{inputs[0]}};
}

Thunk WriteSubtensorOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return window_thunk(node, context, write_, [user = name(), indices = indices_](std::span<const Layout> inputs, const Layout& output) {
    return std::vector<Window>{{1, inputs[1], part_of(user, indices, output)}};
  });
}

Gradients WriteSubtensorOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const At at(node.where());
  const Variable &g = output_gradients[0], part = subtensor(at(g), indices_);
  const Variable of_x = write_ == WindowWrite::kSet ? set_subtensor(at(g), indices_, 0.0) : g;
  return std::vector<Variable>{of_x, sum_to(part, node.input(1).dims(), node.where())};
}

namespace {

Variable write(const Operand& x, std::span<const Index> indices, const Operand& y, WindowWrite how) {
  const auto op = std::make_shared<const WriteSubtensorOp>(Indices(indices.begin(), indices.end()), how);
  const Variable base = x.as(x.promotable().dtype);
  if (how == WindowWrite::kAdd && base.dtype() == bool_) throw TypeError("inc_subtensor: x is bool, which nothing is added to", "cast it to an integer");
  const Variable inputs[] = {base, written_value(op->name(), base, y, x.where())};
  return op->apply(inputs, x.where()).output();
}

}  // namespace

Variable written_value(const std::string& who, const Variable& x, const Operand& y, SourceLine line) {
  const Operand base(x, line.file, line.line);
  if (y.is_number()) asked(who, [&] { require_stays(who, x.dtype(), y); }, base);
  else asked(who, [&] { require_stays(who, x.dtype(), y); }, base, y);
  return y.is_number() ? y.as(x.dtype()) : cast_at(y.variable(), x.dtype(), line);
}

Variable subtensor(const Operand& x, std::span<const Index> indices) {
  const Variable inputs[] = {x.as(x.promotable().dtype)};
  return std::make_shared<const SubtensorOp>(Indices(indices.begin(), indices.end()))->apply(inputs, x.where()).output();
}
Variable set_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y) { return write(x, indices, y, WindowWrite::kSet); }
Variable inc_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y) { return write(x, indices, y, WindowWrite::kAdd); }

}  // namespace damo
