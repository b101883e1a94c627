// RawKernelOp: the op behind a RawKernel.
#pragma once
#include <string>
#include <vector>

#include <damo/raw_kernel.hpp>
#include "ops/raw_parameter.hpp"

namespace damo {

/// A scalar parameter and the fact about shapes that its name asks for.
struct RawScalar {
  enum class Fact { kGiven, kSize, kExtent, kStride };
  RawParameter parameter;
  Fact fact = Fact::kGiven;
  int array = 0;  ///< inputs, then outputs
  int axis = 0;
};

class RawKernelOp final : public Op {
 public:
  explicit RawKernelOp(RawKernelDefinition definition);

  std::string name() const override { return definition_.name; }
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  int overwrites(int output) const override { return overwrites_[static_cast<std::size_t>(output)]; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  /// By text, declarations and rules: props cannot hold the rules.
  bool equals(const Op& other) const override;
  std::size_t hash() const override;

  const RawKernelDefinition& definition() const { return definition_; }
  const std::string& source() const { return source_; }
  const std::vector<RawParameter>& inputs() const { return inputs_; }
  const std::vector<RawParameter>& outputs() const { return outputs_; }
  const std::vector<RawScalar>& scalars() const { return scalars_; }
  /// The cell, inputs before outputs, of each of the kernel's array parameters: an overwritten input's is the output's.
  std::vector<int> parameter_cells() const;

 private:
  void read_inputs();
  void read_outputs();
  void read_scalars();
  void read_overwrites();
  RawScalar read_scalar(const std::string& declaration) const;
  void check_names() const;
  void write_source();
  std::vector<Shape> checked_shapes(std::span<const Shape> inputs) const;
  std::vector<Shape> type_dims(std::span<const Shape> inputs) const;

  RawKernelDefinition definition_;
  std::vector<RawParameter> inputs_, outputs_;
  std::vector<RawScalar> scalars_;
  std::vector<int> overwrites_;  // by output: the input, or -1
  std::string source_;
};

/// One node's launch.
Thunk raw_kernel_thunk(const RawKernelOp& op, const Apply& node, ThunkContext& context);

}  // namespace damo
