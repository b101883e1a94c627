// IndexAlongOp: of each element of x its place along some axes, in C order. It reads nothing of x but the shape, and takes no memory in a kernel: places are counted
// where they are read, within a row or over the space (ElementNumbers in lower.cpp).
#pragma once
#include <cstdint>

#include <damo/kernel_op.hpp>

namespace damo {

class IndexAlongOp final : public KernelOp {
 public:
  /// Bit a of axes: axis a.
  explicit IndexAlongOp(std::uint32_t axes) : axes_(axes) {}

  std::string name() const override { return "index_along"; }
  Props props() const override;
  bool takes_float8() const override { return true; }
  Apply make_node(Inputs inputs) const override;
  void lower(KernelBuilder& kernel) const override { kernel.output(kernel.ordinal()); }
  bool counts_elements() const override { return true; }
  std::uint32_t counted_axes() const override { return axes_; }
  int cost() const override { return 2; }
  bool may_run_in_place(int, int) const override { return false; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool equals(const Op& other) const override;
  std::size_t hash() const override { return axes_; }

 private:
  std::uint32_t axes_;
};

/// int64, of x's shape.
Variable places_along(const Variable& x, std::uint32_t axes, SourceLine line);

}  // namespace damo
