// PoolOp: pooling in a graph, or what goes back from it (pooling.hpp). The gradient of a mean has a second input, of which only the shape is read. No gradient
// goes through the choice of the greatest, only through what is chosen.
#pragma once
#include <damo/op.hpp>
#include "ops/conv/window_form.hpp"
#include "runtime/library/pooling.hpp"

namespace damo {

class PoolOp final : public Op {
 public:
  PoolOp(PoolingRole role, WindowForm form, const Extents3& window, bool counts_padding = true) : role_(role), form_(std::move(form)), window_(window), counts_padding_(counts_padding) {}

  std::string name() const override;
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  /// The kernel for x of that shape, which has elements.
  std::shared_ptr<const PreparedPooling> prepared(Backend& backend, DType dtype, const Shape& x) const;
  Shape shape(std::span<const Shape> inputs) const;

 private:
  PoolingRole role_;
  WindowForm form_;
  Extents3 window_;
  bool counts_padding_;
};

}  // namespace damo
