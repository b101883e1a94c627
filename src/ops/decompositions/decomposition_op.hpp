// DecompositionOp: a Decomposition in a graph. Its thunk runs when its turn comes and is in no replay: methods that can fail wait for the device.
#pragma once
#include <string>

#include <damo/op.hpp>

#include "ops/decompositions/decomposition.hpp"

namespace damo {

class DecompositionOp final : public Op {
 public:
  explicit DecompositionOp(const Decomposition& what) : what_(what) {}

  std::string name() const override { return what_.name(); }
  Props props() const override;
  bool may_refuse() const override { return true; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  Decomposition what_;
};

/// Its results, built at that line. inputs: of one rank.
std::vector<Variable> decompose(const Decomposition& what, std::span<const Variable> inputs, SourceLine line);

}  // namespace damo
