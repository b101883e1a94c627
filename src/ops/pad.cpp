// A tensor amid places that all have one value.
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

#include <damo/ops/subtensor.hpp>
#include <damo/thunk.hpp>
#include "graph/base/counted.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/lower.hpp"
#include "ops/pad_op.hpp"
#include "ops/padded_extent.hpp"
#include "ops/promotion.hpp"
#include "ops/window_thunk.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel/dialect.hpp"

namespace damo {
namespace {

/// Whether neighbours in memory lie along another axis than the last: what turns them around in tiles reads them faster than a kernel that reads them amid a frame.
bool lies_across(const Op::Layout& x) {
  const auto stride = [&](int axis) { return x.shape[axis] == 1 ? 0 : std::abs(x.strides[axis]); };
  int last = x.shape.rank() - 1;
  while (last >= 0 && stride(last) == 0) --last;
  for (int axis = 0; axis < last; ++axis) {
    if (stride(axis) != 0 && stride(axis) < stride(last)) return true;
  }
  return false;
}

}  // namespace

Props PadOp::props() const {
  std::vector<std::int64_t> numbers;
  for (const PadWidth& width : widths_) numbers.push_back(width.before), numbers.push_back(width.after);
  return {{"widths", numbers}};
}

Apply PadOp::make_node(Inputs inputs) const {
  inputs.require_count(2);
  return {*this, {inputs.at(0), inputs.at(1)}, {{inputs.at(0).dtype(), shape(inputs.at(0).dims())}}};
}

Thunk PadOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const ConstantPtr& value = node.input(1).constant();
  const bool finds_frames = is_literal(value) && context.device().backend().dialect().finds_frames();
  std::uint64_t bits = 0;
  if (finds_frames) value->scalar().store(&bits);
  return window_thunk(node, context, WindowWrite::kSet, [op = PadOp(widths_), finds_frames, bits](std::span<const Layout> inputs, const Layout& output) {
    if (finds_frames && !lies_across(inputs[0])) return std::vector<Window>{{0, {output.shape, inputs[0].strides, 0}, output, op.frame(inputs[0].shape, bits)}};
    Layout inside = output;
    for (int axis = 0; axis < output.shape.rank(); ++axis) inside = between(inside, axis, op.widths()[static_cast<std::size_t>(axis)].before, inputs[0].shape[axis]);
    return std::vector<Window>{{1, inputs[1], output, {}}, {0, inputs[0], inside, {}}};
  });
}

Gradients PadOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const At at(node.where());
  std::vector<Index> inside;
  for (const PadWidth& width : widths_) {
    inside.emplace_back(width.before, width.after == 0 ? std::nullopt : std::optional<std::int64_t>(-width.after));
  }
  const Variable& g = output_gradients[0];
  const Variable of_x = subtensor(at(g), inside);
  if (node.input(1).is_constant()) return Gradients{Gradient(of_x), Gradient::disconnected()};
  return Gradients{Gradient(of_x), Gradient(sum_to(set_subtensor(at(g), inside, 0.0), {}, node.where()))};
}

Shape PadOp::shape(const Shape& x) const {
  Shape to = x;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x[axis] != kUnknown) to[axis] = padded_extent("pad", x[axis], widths_[static_cast<std::size_t>(axis)], axis);
  }
  return to;
}

FrameLayout PadOp::frame(const Shape& x, std::uint64_t bits) const {
  FrameLayout frame{.before = {}, .extents = x, .bits = bits};
  for (const PadWidth& width : widths_) frame.before.push_back(width.before);
  return frame;
}

Variable pad(const Operand& x, std::span<const PadWidth> widths, const Operand& value) {
  const Variable base = x.as(x.promotable().dtype);
  asked(
      "pad", [&] {
        if (static_cast<int>(widths.size()) != base.rank()) {
          throw ShapeError("pad: " + std::to_string(widths.size()) + " widths for " + counted_axes(base.rank()), "give one for each axis; {} adds nothing");
        }
        for (const PadWidth& width : widths) {
          if (width.before < 0 || width.after < 0) throw ShapeError("pad: a width is below 0", "subtensor makes a tensor smaller");
        }
        if (!value.is_number() && value.variable().rank() != 0) throw ShapeError("pad: the value is " + describe(value.variable()), "give a number, or a Variable of rank 0");
        if (is_too_large(value, base.dtype())) throw TypeError("pad: " + to_string(value.number()) + " does not fit " + std::string(name(base.dtype())), "cast x to a wider dtype");
      },
      x);
  const Variable inputs[] = {base, value.is_number() ? value.as(base.dtype()) : cast_at(value.variable(), base.dtype(), x.where())};
  return std::make_shared<const PadOp>(std::vector<PadWidth>(widths.begin(), widths.end()))->apply(inputs, x.where()).output();
}

}  // namespace damo
