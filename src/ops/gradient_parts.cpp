#include "ops/gradient_parts.hpp"

#include <span>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/specify_shape.hpp>
#include "ops/reduce_op.hpp"

namespace damo {

Variable cast_at(const Variable& x, DType dtype, SourceLine line) { return cast(At(line)(x), dtype); }

Variable sum_to(const Variable& g, const Shape& dims, SourceLine line) {
  const int dropped = g.rank() - dims.rank();
  std::uint32_t axes = 0;
  std::vector<int> left;
  for (int axis = 0; axis < g.rank(); ++axis) {
    if (axis < dropped || (dims[axis - dropped] == 1 && g.dims()[axis] != 1)) axes |= std::uint32_t{1} << axis;
    if (axis >= dropped) left.push_back(axis);
  }
  if (axes == 0) return g;
  const Variable sums = reduce(ReductionKind::kSum, g, axes, line);
  return dropped == 0 ? sums : dimshuffle(At(line)(sums), left);
}

Variable zeros_like(const Variable& x, SourceLine line) { return second(At(line)(cast_at(x, gradient_dtype(x.dtype()), line)), 0.0); }

Variable without_stretching(const Shape& dims, const Variable& y, SourceLine line) {
  Shape ones(std::span(dims.end() - y.rank(), static_cast<std::size_t>(y.rank())));
  for (std::int64_t& extent : ones) {
    if (extent != 1) extent = kUnknown;
  }
  return specify_shape(At(line)(y), ones);
}

}  // namespace damo
