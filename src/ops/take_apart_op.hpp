// TakeApartOp: a view of x whose axes are parts of x's. What rewrites make; it has no gradient, since gradients are taken before.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <damo/op.hpp>

namespace damo {

class TakeApartOp final : public Op {
 public:
  /// Axis a of the result: part of that axis of x, or an axis of extent 1 where that is -1. Parts of one axis follow one another, but for axes of extent 1 between them, the outermost first; the extents of an axis' parts
  /// multiply to its own, and one alone may be kUnknown. An axis of x without parts has extent 1.
  struct Part {
    int axis = -1;
    std::int64_t extent = 1;
    bool operator==(const Part&) const = default;
  };
  explicit TakeApartOp(std::vector<Part> parts) : parts_(std::move(parts)) {}

  std::string name() const override { return "take_apart"; }
  bool takes_float8() const override { return true; }
  Props props() const override {
    std::vector<std::int64_t> axes, extents;
    for (const Part& part : parts_) axes.push_back(part.axis), extents.push_back(part.extent);
    return {{"axes", axes}, {"extents", extents}};
  }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), shape_of(inputs.at(0).dims())}}};
  }
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply&, std::span<const Layout> inputs) const override {
    const Layout& x = inputs[0];
    const Shape to = shape_of(x.shape);
    Strides strides = Strides::filled(to.rank(), 0);
    std::int64_t inner = 1;
    int last = -1;
    for (int axis = to.rank() - 1; axis >= 0; --axis) {
      const int from = parts_[static_cast<std::size_t>(axis)].axis;
      if (from < 0) continue;
      if (from != std::exchange(last, from)) inner = 1;
      strides[axis] = x.strides[from] * inner;
      inner *= to[axis];
    }
    return {to, strides, x.offset};
  }

 private:
  Shape shape_of(const Shape& x) const {
    Shape to;
    for (const Part& part : parts_) to.push_back(part.extent == kUnknown ? x[part.axis] : part.extent);
    return to;
  }
  std::vector<Part> parts_;
};

}  // namespace damo
