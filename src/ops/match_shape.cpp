#include "ops/match_shape.hpp"

#include "ops/elementwise_op.hpp"

namespace damo {

Variable match_shape(const Variable& g, const Variable& x, SourceLine where) {
  if (g.dims() == x.dims() && g.dims().is_known()) return g;
  static const auto row = std::make_shared<const ElementwiseRow>(
      ElementwiseRow{.name = "match_shape",
                     .doc = "x in the shape of y, which does not stretch",
                     .code = "((void)x1, x0)",
                     .cost = 0,
                     .gradient = [](auto& g, auto&, auto&) { return Gradients{Gradient(g), Gradient::disconnected()}; },
                     .file = "damo/gradient.hpp"});
  static const auto op = std::make_shared<const ElementwiseOp>(row, ElementwiseOp::ShapeOf::kLastInput);
  const Variable inputs[] = {g, x};
  return op->apply(inputs, where).output();
}

}  // namespace damo
