// ReduceOp: one built-in reduction over some axes, which stay with extent 1.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <damo/axes.hpp>
#include <damo/kernel_op.hpp>
#include "ops/not_empty.hpp"
#include "ops/reductions.hpp"

namespace damo {

class ReduceOp final : public KernelOp {
 public:
  /// Bit a of axes: axis a. allows_empty: of the reductions that choose, gives of no elements the least or greatest of the dtype. rows: which x has to have.
  ReduceOp(ReductionKind reduction, std::uint32_t axes, bool allows_empty = false, std::optional<NeededRows> rows = {})
      : reduction_(reduction), axes_(axes), allows_empty_(allows_empty), rows_(std::move(rows)) {}

  std::string name() const override { return name_of(reduction_); }
  Props props() const override;
  /// Where of x only the shape is read.
  bool takes_float8() const override { return reduction_ == ReductionKind::kCount; }
  Apply make_node(Inputs inputs) const override;
  void lower(KernelBuilder& kernel) const override;
  std::optional<std::uint32_t> reduced_axes() const override { return axes_; }
  int cost() const override { return 2; }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;
  bool equals(const Op& other) const override;
  std::size_t hash() const override { return std::size_t{axes_} * 16 + static_cast<std::size_t>(reduction_); }

  /// Throws ShapeError where there is nothing to choose from, or where there are no rows.
  Shape output_shape(std::span<const Shape> dims, std::span<const Shape> shapes) const override;
  ReductionKind kind() const { return reduction_; }
  bool allows_empty() const { return allows_empty_; }
  const std::optional<NeededRows>& rows() const { return rows_; }

 private:
  ReductionKind reduction_;
  std::uint32_t axes_;
  bool allows_empty_;
  std::optional<NeededRows> rows_;
};

/// x reduced over these axes, built at that line. rows: which it has to have, where its type does not tell that it has them.
Variable reduce(ReductionKind reduction, const Variable& x, std::uint32_t axes, SourceLine line, const NeededRows& rows = {});
/// How many elements are reduced together: a constant where the extents are known.
Variable count_of(const Variable& x, std::uint32_t axes, SourceLine line);

/// What a function that reduces was given: x as a Variable, and which of its axes. Throws ShapeError, in that function's name.
struct ReducedOperand {
  ReducedOperand(const char* name, const Operand& x, const Axes& axes);
  /// Of what is made of several ops, each of which would refuse 8-bit floats in its own name.
  static ReducedOperand computed(const char* name, const Operand& x, const Axes& axes);
  /// In which sums of x are formed, 16 bits not being enough, and the dtype of what comes out.
  DType inner() const { return is_half(dtype()) ? float32 : dtype(); }
  DType dtype() const { return is_floating(x.dtype()) ? x.dtype() : float64; }

  Variable x;
  std::uint32_t axes;
  SourceLine line;
};


/// What a ReduceOp gave, without the axes that it reduced unless they are to stay.
Variable drop_axes(const Variable& reduced, std::uint32_t axes, bool keep, SourceLine line);

}  // namespace damo
