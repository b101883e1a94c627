// ContractionOp: a contraction (contraction.hpp) in a graph. With beta it has a third input c, which broadcasts to the result:
//
//   activation(alpha * contraction(x, y) + beta * c)
//
// The functions of ops/linalg.hpp make the plain form, the pass fuse_products (rewrites/fuse_products.hpp) the others.
#pragma once
#include <string>

#include <damo/op.hpp>
#include "ops/contraction.hpp"

namespace damo {

class ContractionOp final : public Op {
 public:
  /// name: of the function that the user called. overwrites: c has the result's dtype and shape, and its memory may become the result's.
  ContractionOp(std::string name, const ContractionForm& form, bool overwrites = false) : name_(std::move(name)), form_(form), overwrites_(overwrites) {}

  std::string name() const override { return name_; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  int overwrites(int) const override { return overwrites_ ? 2 : -1; }
  bool takes_float8() const override { return true; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  /// Whatever they are called.
  bool equals(const Op& other) const override;

  const ContractionForm& form() const { return form_; }
  bool has_start() const { return form_.beta != 0; }

 private:
  Shape shape(std::span<const Shape> inputs) const;

  std::string name_;
  ContractionForm form_;
  bool overwrites_;
};

/// Built at that line.
Variable contract(const std::string& name, const ContractionForm& form, const Variable& x, const Variable& y, SourceLine line);

}  // namespace damo
