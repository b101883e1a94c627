// ElementwiseOp: the Op of one row. The cast op is one too, with the dtype it casts to.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <damo/elementwise.hpp>
#include <damo/graph.hpp>
#include <damo/kernel_op.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

class ElementwiseOp final : public KernelOp {
 public:
  /// cast_to: what cast gives.
  explicit ElementwiseOp(std::shared_ptr<const ElementwiseRow> row, std::optional<DType> cast_to = {}) : row_(std::move(row)), cast_to_(cast_to) {}

  std::string name() const override { return row_->name; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  void lower(KernelBuilder& kernel) const override;
  int cost() const override { return row_->cost; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  /// make_node refuses what the row does not take.
  bool takes_float8() const override { return true; }
  bool equals(const Op& other) const override;
  std::size_t hash() const override;

  const ElementwiseRow& row() const { return *row_; }
  /// Of the cast op.
  const std::optional<DType>& cast_to() const { return cast_to_; }
  /// The step that computes it from inputs of these dtypes; values: the numbers of its inputs.
  Step step(std::span<const DType> inputs, std::vector<int> values) const;

 private:
  DType promoted(std::span<const DType> inputs) const;
  std::shared_ptr<const ElementwiseRow> row_;
  std::optional<DType> cast_to_;
};

/// Throw TypeError unless the row takes inputs that promote to common, and this dtype as its condition.
void check_takes(const ElementwiseRow& row, DType common);
void check_condition(const ElementwiseRow& row, DType condition);

/// Throws GraphError if the graph has two rows of one name that do not compute the same: what it prints and says in
/// errors would not tell them apart.
void check_names_of_rows(const FunctionGraph& graph);

/// The op of cast (ops/cast.hpp).
std::shared_ptr<const ElementwiseOp> cast_op(DType dtype);

/// The op of a row: of a built-in one always the same, of another one an op of its own, equal to others of equal rows.
OpPtr elementwise_op(const ElementwiseRow& row);

}  // namespace damo
