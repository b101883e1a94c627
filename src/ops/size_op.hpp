// SizeOp: a number that follows from the extents of its input alone, as the count that a mean's gradient divides by. The host knows it when shapes are bound, so a kernel that
// reads it gets it among its launch's arguments (FusedOp::size): no kernel computes it, and it takes no memory. Where something else reads it its thunk fills one element.
// Made by forward_shapes; what is computed of it and of numbers, as 1 / count, becomes part of it (the rule fold_sizes). No element of the input is read.
// Made behind gradients, so it has none. See tests/ops/size_op_test.cpp and tests/function/size_on_host_test.cpp.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include <damo/op.hpp>
#include <damo/scalar.hpp>
#include "ops/elementwise_op.hpp"

namespace damo {

class SizeOp final : public Op {
 public:
  /// What a step reads: an earlier step, or a number.
  struct Term {
    int step = -1;  ///< -1: the number
    Scalar number;
  };
  /// The product of extents, or an elementwise op of earlier steps and numbers that has one right result.
  struct Step {
    DType result = float32;
    std::vector<std::int64_t> axes;  ///< of the input, and the factor beside their extents
    std::int64_t factor = 1;
    std::shared_ptr<const ElementwiseOp> op;  ///< null: the product
    DType compute = float32;
    std::vector<Term> terms;
  };

  /// The last of the steps is the number, rank that of the output, whose extents are 1.
  SizeOp(std::vector<Step> steps, int rank) : steps_(std::move(steps)), rank_(rank) {}

  std::string name() const override { return "size"; }
  Props props() const override;
  Apply make_node(Inputs inputs) const override;
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return {{Shape::filled(rank_, 1)}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override;
  bool takes_float8() const override { return true; }
  bool equals(const Op& other) const override;
  std::size_t hash() const override;

  /// For an input of that shape.
  Scalar value(const Shape& x) const;
  /// Its bytes, of which those beyond its dtype's are 0.
  std::uint64_t bits(const Shape& x) const;
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;
  int rank_;
};

}  // namespace damo
