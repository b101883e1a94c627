// RightSideOp: the right side of systems of equations, which has as many rows as their matrices.
#pragma once
#include <span>
#include <string>

#include "ops/checked_shapes_op.hpp"
#include "ops/decompositions/decomposition.hpp"

namespace damo {

/// A view of the right sides; the second input: the matrices.
class RightSideOp final : public CheckedShapesOp {
 public:
  std::string name() const override { return "right_side"; }
  void require(std::span<const Shape> shapes) const override { require_rows(name(), shapes[1], shapes[0]); }
};

}  // namespace damo
