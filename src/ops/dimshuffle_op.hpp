// DimShuffleOp: a view with the axes in another order, with new ones of extent 1, without some of extent 1.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include "graph/base/counted.hpp"

namespace damo {

class DimShuffleOp final : public Op {
 public:
  static constexpr std::int64_t kLeastRun = 64;

  explicit DimShuffleOp(std::vector<std::int64_t> pattern) : pattern_(std::move(pattern)) {}

  std::string name() const override { return "dimshuffle"; }
  bool takes_float8() const override { return true; }
  const std::vector<std::int64_t>& pattern() const { return pattern_; }
  Props props() const override { return {{"pattern", pattern_}}; }

  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    const Variable& x = inputs.at(0);
    check(x.dims());
    return {*this, {x}, {{x.dtype(), shuffled(x.dims(), 1)}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{shuffled(inputs[0], 1)}}; }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    return turned(inputs[0]);
  }
  std::optional<Layout> layout_behind(const Layout& view, const Shape& input) const override {
    Layout behind{input, Shape::filled(input.rank(), 0), view.offset};  // axes that are left out have one place
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      if (pattern_[i] != kNewAxis) behind.strides[static_cast<int>(pattern_[i])] = view.strides[static_cast<int>(i)];
    }
    return behind;
  }
  /// Whether the axes of what it looks at follow one another as they did: some may be new, or left out.
  bool keeps_order() const {
    std::vector<std::int64_t> axes = pattern_;
    std::erase(axes, kNewAxis);
    return std::is_sorted(axes.begin(), axes.end());
  }
  /// Whether the last axis of what it looks at stays the last, and has kLeastRun bytes or more: what a kernel of rows needs to move it at the speed of a copy, be it read or written.
  bool keeps_runs(const TensorType& from) const {
    const int last = from.rank() - 1;
    return last >= 0 && !pattern_.empty() && pattern_.back() == last && from.dims[last] != kUnknown && from.dims[last] * static_cast<std::int64_t>(itemsize(from.dtype)) >= kLeastRun;
  }
  Layout turned(const Layout& x) const { return {shuffled(x.shape, 1), shuffled(x.strides, 0), x.offset}; }
  /// Throws ShapeError if the pattern is none of a value of these extents.
  void check(const Shape& dims) const {
    std::vector<int> uses(static_cast<std::size_t>(dims.rank()), 0);
    for (std::int64_t axis : pattern_) {
      if (axis == kNewAxis) continue;
      if (axis < 0 || axis >= dims.rank()) throw ShapeError("dimshuffle: axis " + std::to_string(axis) + " does not exist: x has " + counted_axes(dims.rank()), "name x's axes from 0 on, kNewAxis for one more");
      if (++uses[static_cast<std::size_t>(axis)] > 1) throw ShapeError("dimshuffle: axis " + std::to_string(axis) + " is named twice", "name each axis once; broadcast_to repeats elements");
    }
    for (int axis = 0; axis < dims.rank(); ++axis) {
      if (uses[static_cast<std::size_t>(axis)] == 1 || dims[axis] == 1) continue;
      throw ShapeError("dimshuffle: axis " + std::to_string(axis) + " is left out and its extent is not known to be 1", "declare the input with extent 1 there, or keep the axis");
    }
  }
  /// What squeeze looks at before: throws ShapeError, in its name, unless the extent of the axis is known to be 1.
  static void require_one(const Shape& dims, int axis) {
    if (dims[axis] == 1) return;
    const bool is_known = dims[axis] != kUnknown;
    throw ShapeError("squeeze: axis " + std::to_string(axis) + (is_known ? " has " + std::to_string(dims[axis]) + " elements, not 1" : " is not known to have the extent 1"),
                     is_known ? "subtensor takes one of them" : "declare it: specify_shape, or the input's type");
  }
  /// The axes back in their places; those that were left out come again with extent 1.
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    std::vector<int> back(static_cast<std::size_t>(node.input(0).rank()), kNewAxis);
    for (std::size_t i = 0; i < pattern_.size(); ++i) {
      if (pattern_[i] != kNewAxis) back[static_cast<std::size_t>(pattern_[i])] = static_cast<int>(i);
    }
    return dimshuffle(Operand(output_gradients[0], node.where().file, node.where().line), back);
  }

 private:
  Shape shuffled(const Shape& from, std::int64_t for_new) const {
    Shape to;
    for (std::int64_t axis : pattern_) to.push_back(axis == kNewAxis ? for_new : from[static_cast<int>(axis)]);
    return to;
  }
  std::vector<std::int64_t> pattern_;
};

}  // namespace damo
