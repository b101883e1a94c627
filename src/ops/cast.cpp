#include <damo/ops/cast.hpp>

#include "ops/elementwise_op.hpp"

namespace damo {

std::shared_ptr<const ElementwiseOp> cast_op(DType dtype) {
  static const auto row = std::make_shared<const ElementwiseRow>(
      ElementwiseRow{.name = "cast", .doc = "the elements in another dtype", .code = "x0", .file = "damo/ops/cast.hpp"});
  return std::make_shared<const ElementwiseOp>(row, dtype);
}

Variable cast(const Operand& x, DType dtype) {
  const Variable input = x.as(x.promotable().dtype);
  if (input.dtype() == dtype) return input;
  const Variable inputs[] = {input};
  return cast_op(dtype)->apply(inputs, x.where()).output();
}

}  // namespace damo
