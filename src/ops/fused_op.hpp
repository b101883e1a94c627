// FusedOp: several elementwise nodes, and reductions over one space, as one kernel. It keeps them as an inner graph, from which its shapes, its kernel,
// its errors and its picture come. Made by fuse_elementwise; users see it in prints.
#pragma once
#include <memory>
#include <string>

#include <damo/graph.hpp>
#include <damo/op.hpp>
#include "ops/fused_form.hpp"

namespace damo {

class FusedOp final : public Op {
 public:
  /// inner: only ElementwiseOps, and ReduceOps of the same axes or of all others (lower.hpp); numbered inputs first. form: that of inner.
  FusedOp(FunctionGraph inner, std::shared_ptr<FusedForm> form);

  std::string name() const override { return "fused"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  const FunctionGraph* inner_graph() const override { return &inner_; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  /// Of every value of the inner graph. Throws ShapeError as infer_shape does.
  std::vector<Shape> shapes(std::span<const Shape> inputs) const;
  FusedForm& form() const { return *form_; }
  /// The op with another form, which differs in what it guards alone.
  OpPtr with_form(std::shared_ptr<FusedForm> form) const { return std::make_shared<const FusedOp>(inner_, std::move(form)); }
  /// Bit a: axis a of the space is part of a row.
  std::uint32_t reduced_axes() const { return reduced_axes_; }
  /// What is read again after a reduction, be it over no axes, is read after elements were written.
  bool may_run_in_place(int, int) const override { return !reduces_; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  FunctionGraph inner_;
  std::shared_ptr<FusedForm> form_;
  std::uint32_t reduced_axes_;
  bool reduces_;  ///< over no axes perhaps
};

}  // namespace damo
