// ReshapingOp: ops that keep the elements and their order and change the axes. ReshapeOp: to a given shape; FlattenOp: some axes become one.
#pragma once
#include <string>
#include <utility>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include "runtime/array/view_layout.hpp"

namespace damo {

/// g in the shape of x.
Variable reshape_like(const Variable& g, const Variable& x, SourceLine line);

/// x, with the extents of `given` where its own are not known; kUnknown fits to any. Throws ShapeError, in specify_shape's name, where two differ.
Shape specified_shape(const Shape& x, const Shape& given);

/// Which axes flatten puts together, counted from 0. Throws ShapeError where one does not exist or the first comes after the last.
std::pair<int, int> flattened_axes(int first, int last, int rank);

/// A view of what is contiguous: make_node sees to that.
class ReshapingOp : public Op {
 public:
  bool takes_float8() const override { return true; }
  int view_of(int) const override { return 0; }
  bool views_any_strides() const override { return false; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    if (!is_contiguous(inputs[0].shape, inputs[0].strides)) throw InternalError(name() + " looks at what is not in C order", "make_node puts contiguous() before it; a rewrite may leave that out where nothing else can be");
    const Shape to = shape(inputs);
    return {to, contiguous_strides(to), inputs[0].offset};
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    return Gradients(reshape_like(output_gradients[0], node.input(0), node.where()));
  }

 protected:
  virtual Shape shape(std::span<const Layout> inputs) const = 0;
  static Variable in_order(const Inputs& inputs) { return contiguous(inputs.at(0)); }
};

class ReshapeOp final : public ReshapingOp {
 public:
  explicit ReshapeOp(const Shape& to) : to_(to) {}
  std::string name() const override { return "reshape"; }
  Props props() const override { return {{"shape", std::vector<std::int64_t>(to_.begin(), to_.end())}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {in_order(inputs)}, {{inputs.at(0).dtype(), complete_shape(inputs.at(0).dims(), to_)}}};
  }

 private:
  Shape shape(std::span<const Layout> inputs) const override { return complete_shape(inputs[0].shape, to_); }
  static_assert(kUnknown == -1, "the open extent is an unknown one of the type");
  Shape to_;
};

/// The axes from first to last as one.
class FlattenOp final : public ReshapingOp {
 public:
  FlattenOp(int first, int last) : first_(first), last_(last) {}
  int first() const { return first_; }
  int last() const { return last_; }
  std::string name() const override { return "flatten"; }
  Props props() const override { return {{"first", std::int64_t{first_}}, {"last", std::int64_t{last_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {in_order(inputs)}, {{inputs.at(0).dtype(), flat(inputs.at(0).dims())}}};
  }

 private:
  Shape shape(std::span<const Layout> inputs) const override { return flat(inputs[0].shape); }
  Shape flat(const Shape& from) const {
    Shape to, merged;
    bool is_known = true;
    for (int axis = 0; axis < from.rank(); ++axis) {
      if (axis >= first_ && axis <= last_) {
        merged.push_back(from[axis]);
        is_known &= from[axis] != kUnknown;
      } else {
        to.push_back(from[axis]);
      }
    }
    to.insert(first_, is_known ? merged.size() : kUnknown);
    return to;
  }
  int first_, last_;
};

}  // namespace damo
