// FusedOp: several elementwise nodes, and reductions over one space, as one kernel. It keeps them as an inner graph, from which its shapes, its kernel,
// its errors and its picture come. Made by fuse_elementwise; users see it in prints. Inputs that another op would take from an array at positions it may find itself (fuse_takes), and those that another op would pad (fuse_pads).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <damo/graph.hpp>
#include <damo/op.hpp>
#include "ops/fused_form.hpp"
#include "ops/indexing/take_op.hpp"
#include "ops/pad_op.hpp"
#include "ops/size_op.hpp"

namespace damo {

/// By input of a group: the op of the number that its kernel gets in the place of the input's elements, or null; may be shorter.
using SizesOfInputs = std::vector<std::shared_ptr<const SizeOp>>;

/// An input of a group that is slices of the node's input: where they lie an input of the node behind those of the group says, one for each of these in their order.
struct TakenInput {
  int input;
  std::shared_ptr<const TakeOp> op;  ///< what would take them
};

/// An input of a group that is the node's input amid a value.
struct FramedInput {
  int input;
  std::shared_ptr<const PadOp> op;  ///< what would pad it
  Scalar value;                     ///< of the input's dtype
};

class FusedOp final : public Op {
 public:
  /// inner: only ElementwiseOps, and ReduceOps of the same axes or, all of them, of some others (lower.hpp); numbered inputs first. form: that of inner, and of which inputs are sizes.
  /// takes, frames: of other inputs than sizes, each once, ascending; no input is both.
  FusedOp(FunctionGraph inner, std::shared_ptr<FusedForm> form, SizesOfInputs sizes = {}, std::vector<TakenInput> takes = {}, std::vector<FramedInput> frames = {});

  std::string name() const override { return "fused"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  const FunctionGraph* inner_graph() const override { return &inner_; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override;
  /// Of every value of the inner graph, for inputs of the group of these. Throws ShapeError as infer_shape does.
  std::vector<Shape> shapes(std::span<const Shape> inputs) const;
  FusedForm& form() const { return *form_; }
  /// The op with another form, which differs in what it guards alone.
  OpPtr with_form(std::shared_ptr<FusedForm> form) const { return std::make_shared<const FusedOp>(inner_, std::move(form), sizes_, takes_, frames_); }
  /// The op that finds these inputs itself; the node then has their arrays in their places, and positions behind.
  OpPtr with_takes(std::vector<TakenInput> takes) const { return std::make_shared<const FusedOp>(inner_, form_, sizes_, std::move(takes), frames_); }
  const std::vector<TakenInput>& takes() const { return takes_; }
  /// The op that reads these inputs amid their frames; the node then has what would be padded in their places.
  OpPtr with_frames(std::vector<FramedInput> frames) const { return std::make_shared<const FusedOp>(inner_, form_, sizes_, takes_, std::move(frames)); }
  const std::vector<FramedInput>& frames() const { return frames_; }
  /// Of an input of the group; null: it is not framed.
  const FramedInput* frame(int input) const {
    for (const FramedInput& frame : frames_) {
      if (frame.input == input) return &frame;
    }
    return nullptr;
  }
  /// The op that would take an input of the group; null: it is no taken one.
  const TakeOp* take(int input) const {
    for (const TakenInput& taken : takes_) {
      if (taken.input == input) return taken.op.get();
    }
    return nullptr;
  }
  /// The inputs of the group: the node's without positions.
  int array_count() const { return static_cast<int>(inner_.inputs().size()); }
  /// Of an input of which the kernel reads no element: the number that follows from its shape, which is what the inner graph has in its place. Else null.
  const SizeOp* size(int input) const {
    const auto i = static_cast<std::size_t>(input);
    return i < sizes_.size() ? sizes_[i].get() : nullptr;
  }
  bool has_sizes() const { return !sizes_.empty(); }
  /// Whether the kernel reads an input of the group at places that it computes (KernelOp::reads_table).
  bool is_table(int input) const {
    const auto i = static_cast<std::size_t>(input);
    return i < tables_.size() && tables_[i];
  }
  bool has_tables() const { return !tables_.empty(); }
  /// Bit a: axis a of the space is part of a row.
  std::uint32_t reduced_axes() const { return reduced_axes_; }
  /// Bit a: axis a of the space is one that rows are joined across.
  std::uint32_t across_axes() const { return across_axes_; }
  /// What is read again after a reduction, be it over no axes, is read after elements were written. So may be slices, positions, what is amid a frame, and tables.
  bool may_run_in_place(int, int input) const override { return !reduces_ && input < array_count() && !take(input) && !frame(input) && !is_table(input); }
  bool may_write_window(int) const override { return true; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool equals(const Op& other) const override { return this == &other; }
  std::size_t hash() const override { return std::hash<const void*>()(this); }

 private:
  FunctionGraph inner_;
  std::shared_ptr<FusedForm> form_;
  SizesOfInputs sizes_;
  std::vector<TakenInput> takes_;
  std::vector<FramedInput> frames_;
  std::vector<bool> tables_;  // by input; empty: there are none
  std::uint32_t reduced_axes_, across_axes_;
  bool reduces_;  ///< over no axes perhaps
};

}  // namespace damo
