// ElementwiseOp: the Op of one row. The cast op is one too, with the dtype it casts to.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <damo/elementwise.hpp>
#include <damo/op.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

class ElementwiseOp final : public Op {
 public:
  /// What the output's shape is: that to which all inputs broadcast, or the last input's, to which the others do.
  enum class ShapeOf : std::uint8_t { kAllInputs, kLastInput };
  /// row must outlive the op. cast_to: what cast gives.
  explicit ElementwiseOp(const ElementwiseRow& row, std::optional<DType> cast_to = {}) : row_(row), cast_to_(cast_to) {}
  ElementwiseOp(const ElementwiseRow& row, ShapeOf shape_of) : row_(row), shape_of_(shape_of) {}

  std::string name() const override { return std::string(row_.name); }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool equals(const Op& other) const override;
  std::size_t hash() const override;

  const ElementwiseRow& row() const { return row_; }
  /// Of the output, from shapes or types' dims. Throws ShapeError.
  Shape output_shape(std::span<const Shape> inputs) const;
  /// The step that computes it from inputs of these dtypes; values: the numbers of its inputs.
  Step step(std::span<const DType> inputs, std::vector<int> values) const;

 private:
  DType promoted(std::span<const DType> inputs) const;
  const ElementwiseRow& row_;
  std::optional<DType> cast_to_;
  ShapeOf shape_of_ = ShapeOf::kAllInputs;
};

/// Throw TypeError unless the row takes inputs that promote to common, and this dtype as its condition.
void check_takes(const ElementwiseRow& row, DType common);
void check_condition(const ElementwiseRow& row, DType condition);

/// The op of cast (ops/cast.hpp).
std::shared_ptr<const ElementwiseOp> cast_op(DType dtype);

/// The shared op of a registered row.
OpPtr elementwise_op(const ElementwiseRow& row);

}  // namespace damo
