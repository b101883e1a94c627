// GivenShapeOp: views of all of a tensor whose shape the user gives. BroadcastToOp: axes of extent 1 are stretched.
#pragma once
#include <string>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// A view of all of x whose shape the user gives, with -1 or kUnknown where x's own extent stays.
class GivenShapeOp : public Op {
 public:
  bool takes_float8() const override { return true; }
  explicit GivenShapeOp(const Shape& given) : given_(given) {}
  Props props() const override { return {{"shape", std::vector<std::int64_t>(given_.begin(), given_.end())}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    const Variable& x = inputs.at(0);
    return {*this, {x}, {{x.dtype(), shape_of(x.dims())}}};
  }
  int view_of(int) const override { return 0; }

 protected:
  /// The view's shape, as far as x's is known. Throws ShapeError if that does not fit.
  virtual Shape shape_of(const Shape& x) const = 0;
  const Shape& given() const { return given_; }

 private:
  Shape given_;
};

class BroadcastToOp final : public GivenShapeOp {
 public:
  using GivenShapeOp::GivenShapeOp;
  std::string name() const override { return "broadcast_to"; }
  Layout view_layout(const Apply& node, std::span<const Layout> inputs) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  Shape shape_of(const Shape& x) const override;
};

}  // namespace damo
