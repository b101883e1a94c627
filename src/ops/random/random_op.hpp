// RandomOp: one draw from a standard distribution. DropoutOp: a draw that decides which elements of a tensor stay. Both are KernelOps of
// scalar inputs key, counter and ordinal (uint64), which with the element's number are all that its value depends on, so
// they fuse anywhere and can be computed again instead of kept. Means, scales and the like are plain rows behind them.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <damo/kernel_op.hpp>

namespace damo {

enum class RandomKind : std::uint8_t { kBits, kUniform, kNormal, kExponential, kGumbel, kTruncatedNormal, kGamma, kPoisson, kBernoulli, kBelow };

/// What has a key, a counter and an ordinal among its inputs, in this order.
class DrawOp : public KernelOp {
 public:
  /// Which input the key is.
  virtual int key_input() const = 0;
  bool counts_elements() const override { return true; }
  /// The ordinal, and numbers that are parameters of the distribution.
  bool takes_as_argument(int input) const override { return input >= key_input() + 2; }
};

class RandomOp final : public DrawOp {
 public:
  /// digits: of kUniform, else 0. shape: nothing where the last input is a tensor whose shape the draw has.
  RandomOp(RandomKind kind, DType dtype, int digits, std::optional<Shape> shape) : kind_(kind), dtype_(dtype), digits_(digits), shape_(std::move(shape)) {}

  std::string name() const override;
  Props props() const override;
  int key_input() const override { return 0; }
  int cost() const override;
  Apply make_node(Inputs inputs) const override;
  /// Of all inputs together, which must be that of the draw.
  Shape output_shape(std::span<const Shape> dims, std::span<const Shape> shapes) const override;
  void lower(KernelBuilder& kernel) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  std::string code() const;
  RandomKind kind_;
  DType dtype_;
  int digits_;
  std::optional<Shape> shape_;
};

/// Inputs: x, key, counter, ordinal, how many of 2^32 words keep an element (uint64), what they are multiplied by (float32, or x's float64).
class DropoutOp final : public DrawOp {
 public:
  std::string name() const override { return "dropout"; }
  int key_input() const override { return 1; }
  int cost() const override { return 40; }
  Apply make_node(Inputs inputs) const override;
  void lower(KernelBuilder& kernel) const override;
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
};

/// Parameters that a kind takes.
int parameter_count(RandomKind kind);
/// In which its parameters are given to the kernel.
DType parameter_dtype(RandomKind kind, DType dtype);
/// Throws ShapeError unless whole, which parameters and a draw broadcast to, is the draw's shape. drawn_dims: as the graph knows them, where 1 would stretch.
void require_draw_fits(const std::string& name, const Shape& whole, const Shape& drawn, const Shape& drawn_dims);

}  // namespace damo
