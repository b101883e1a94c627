// PadOp: a tensor amid places that all have one value. Inputs: x, and the value, of rank 0. Kernels that read what is padded may read x amid its frame instead (ops/rewrites/fuse_pads.hpp); then nothing is written.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include "runtime/kernel/layout.hpp"

namespace damo {

class PadOp final : public Op {
 public:
  explicit PadOp(std::vector<PadWidth> widths) : widths_(std::move(widths)) {}
  std::string name() const override { return "pad"; }
  bool takes_float8() const override { return true; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{shape(inputs[0])}}; }
  bool may_write_window(int) const override { return true; }
  /// Where kernels read arrays amid a frame, one copy; else the value everywhere and then x.
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  /// Of what x becomes.
  Shape shape(const Shape& x) const;
  /// Of an x of this shape, whose extents are known, amid a value of these bits.
  FrameLayout frame(const Shape& x, std::uint64_t bits) const;
  const std::vector<PadWidth>& widths() const { return widths_; }

 private:
  std::vector<PadWidth> widths_;
};

}  // namespace damo
