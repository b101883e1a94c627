// SubtensorOp: a view of the part of a tensor that indices name. WriteSubtensorOp: a tensor with another value there.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <damo/op.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/window_thunk.hpp"

namespace damo {

/// y in x's dtype, as what is written into a part of x. who: "set_subtensor". TypeError where it would not stay what it is; at the line of the op.
Variable written_value(const std::string& who, const Variable& x, const Operand& y, SourceLine line);

/// What looks at the elements from `first` on along an axis: as split does, so that equal views of graphs are one node.
inline std::vector<Index> indices_of_part(int axis, std::int64_t first, std::int64_t count) {
  std::vector<Index> indices(static_cast<std::size_t>(axis) + 1);
  indices.back() = Index(first, first + count);
  return indices;
}

class SubtensorOp final : public Op {
 public:
  explicit SubtensorOp(std::vector<Index> indices) : indices_(std::move(indices)) {}
  std::string name() const override { return "subtensor"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  int view_of(int) const override { return 0; }
  Layout view_layout(const Apply& node, std::span<const Layout> inputs) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  const std::vector<Index>& indices() const { return indices_; }

 private:
  std::vector<Index> indices_;
};

class WriteSubtensorOp final : public Op {
 public:
  WriteSubtensorOp(std::vector<Index> indices, WindowWrite write) : indices_(std::move(indices)), write_(write) {}
  std::string name() const override;
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  int overwrites(int) const override { return 0; }
  bool takes_float8() const override { return write_ == WindowWrite::kSet || write_ == WindowWrite::kSetApart; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  const std::vector<Index>& indices() const { return indices_; }
  WindowWrite write() const { return write_; }

 private:
  std::vector<Index> indices_;
  WindowWrite write_;
};

}  // namespace damo
