#include <memory>

#include <damo/gradient.hpp>
#include <damo/ops/reduce.hpp>
#include "ops/index_along_op.hpp"
#include "ops/reduce_op.hpp"
#include "ops/reductions.hpp"

namespace damo {

Props IndexAlongOp::props() const {
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < 32; ++axis) {
    if (axes_ >> axis & 1u) axes.push_back(axis);
  }
  return {{"axes", axes}};
}

Apply IndexAlongOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  require_reduced_axes(name(), axes_, inputs.at(0).rank());
  return {*this, {inputs.at(0)}, {{int64, inputs.at(0).dims()}}};
}

Gradients IndexAlongOp::gradient(const Apply&, std::span<const Variable>) const { return Gradients{Gradient::disconnected()}; }

bool IndexAlongOp::equals(const Op& other) const {
  const auto* that = dynamic_cast<const IndexAlongOp*>(&other);
  return that && that->axes_ == axes_;
}

Variable places_along(const Variable& x, std::uint32_t axes, SourceLine line) {
  const Variable inputs[] = {x};
  return std::make_shared<const IndexAlongOp>(axes)->apply(inputs, line).output();
}

Variable index_along(const Operand& x, const Axes& axes) {
  const ReducedOperand asked("index_along", x, axes);
  return places_along(asked.x, asked.axes, asked.line);
}

}  // namespace damo
