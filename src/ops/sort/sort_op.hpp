// The ops of order along the last axis: what comes at each place, and where it was.
#pragma once
#include <cstdint>
#include <optional>

#include <damo/op.hpp>

namespace damo {

/// Elements in order and, where asked, argsort's places of them. Elements of equal keys stay in order (sort_key.hpp), so that
/// both are what ArgsortOp and take_along_axis give, bit for bit. Its gradient asks for the order.
class SortOp final : public Op {
 public:
  SortOp(bool descending, bool has_order) : descending_(descending), has_order_(has_order) {}
  bool descending() const { return descending_; }
  bool has_order() const { return has_order_; }
  std::string name() const override { return "sort"; }
  Props props() const override { return {{"descending", descending_}, {"has_order", has_order_}}; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  bool descending_, has_order_;
};

/// Places of the elements in order. count: topk's, the places of the first so many; none: of all.
class ArgsortOp final : public Op {
 public:
  explicit ArgsortOp(bool descending, std::optional<std::int64_t> count = {}) : descending_(descending), count_(count) {}
  bool descending() const { return descending_; }
  /// Whether it gives the places of all elements.
  bool is_whole() const { return !count_; }
  std::string name() const override { return count_ ? "topk" : "argsort"; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  Shape part(Shape shape) const;
  bool descending_;
  std::optional<std::int64_t> count_;
};

/// Throws ShapeError for a count that lines of such an extent, which may be unknown, do not have.
void require_first(std::int64_t extent, std::int64_t count);

}  // namespace damo
