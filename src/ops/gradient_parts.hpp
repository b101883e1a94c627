// What gradients are made of, built at the line of the node whose gradient it is.
#pragma once
#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Operands of ops that a user's line asked for.
class At {
 public:
  explicit At(SourceLine line) : line_(line) {}
  Operand operator()(const Variable& x) const { return {x, line_.file, line_.line}; }

 private:
  SourceLine line_;
};

/// Of the gradient of such a value: its own dtype, but float32 of 8-bit floats, in which sums of gradients would be lost.
constexpr DType gradient_dtype(DType dtype) { return is_float8(dtype) ? float32 : dtype; }

Variable cast_at(const Variable& x, DType dtype, SourceLine line);
/// g summed until it has the shape of a Variable of these dims that was broadcast to g's.
Variable sum_to(const Variable& g, const Shape& dims, SourceLine line);
/// y, declared to be 1 where the last of these dims are known to be: a value of these dims would stretch over y there. y has no more axes than they.
Variable without_stretching(const Shape& dims, const Variable& y, SourceLine line);
/// Where a gradient of x begins. x: of a floating dtype. Of x only the shape is read.
Variable zeros_like(const Variable& x, SourceLine line);

}  // namespace damo
