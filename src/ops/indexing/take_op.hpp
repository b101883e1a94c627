// Two ops that take: TakeElementsOp, which is a step of a kernel, where a slice is one element of an array that is taken from as a whole; else TakeOp.
// TakeOp: slices at positions along axes, copied. Inputs: x and checked_positions (positions.hpp), in whose place theirs stand in the result (walks.hpp). Kernels that read what is taken may find
// the slices themselves (ops/rewrites/fuse_takes.hpp); then nothing is copied.
#pragma once
#include <span>
#include <string>

#include <damo/kernel_op.hpp>
#include <damo/op.hpp>
#include "ops/indexing/walks.hpp"

namespace damo {

class TakeOp final : public Op {
 public:
  /// strided: x lies in any way; else it is put in C order before.
  TakeOp(int axis, int axes, bool strided) : axis_(axis), axes_(axes), strided_(strided) {}
  std::string name() const override { return "take"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"axes", std::int64_t{axes_}}, {"strided", strided_}}; }
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{shape(inputs[0], inputs[1])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

  Shape shape(const Shape& x, const Shape& positions) const { return taken_shape(x, positions, axis_, axes_); }
  int axis() const { return axis_; }
  int axes() const { return axes_; }
  bool is_strided() const { return strided_; }

 private:
  int axis_, axes_;
  bool strided_;
};

/// Elements at positions that count through all axes of x. Inputs: x and positions that are not looked at: checked_positions, or others that are known to lie on x. Kernels read x as a table.
class TakeElementsOp final : public KernelOp {
 public:
  std::string name() const override { return "take"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"elements", true}}; }
  Apply make_node(Inputs inputs) const override;
  bool reads_table(int input) const override { return input == 0; }
  int cost() const override { return kCost; }
  void lower(KernelBuilder& kernel) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  static constexpr int kCost = 10;  // more than what kernels do again without being asked (fusion_repeats.hpp): a read at a place that nobody foresees
};

}  // namespace damo
