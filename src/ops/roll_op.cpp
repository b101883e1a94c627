#include "ops/roll_op.hpp"

#include <memory>
#include <string>
#include <vector>

#include "ops/window_thunk.hpp"

namespace damo {

std::int64_t RollOp::shift(std::int64_t extent) const {
  const auto around = static_cast<std::int64_t>(places_ % static_cast<std::uint64_t>(extent));
  return forward_ || around == 0 ? around : extent - around;
}

Props RollOp::props() const { return {{"axis", std::int64_t{axis_}}, {"shift", (forward_ ? "" : "-") + std::to_string(places_)}}; }

Apply RollOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  return {*this, {inputs.at(0)}, {inputs.at(0).type()}};
}

Thunk RollOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return window_thunk(node, context, WindowWrite::kSetApart, [op = *this](std::span<const Layout> inputs, const Layout& output) {
    const Layout& x = inputs[0];
    const std::int64_t extent = x.shape[op.axis_];
    if (extent == 0) return std::vector<Window>();
    const std::int64_t shift = op.shift(extent);
    return std::vector<Window>{{0, between(x, op.axis_, 0, extent - shift), between(output, op.axis_, shift, extent - shift)},
                               {0, between(x, op.axis_, extent - shift, shift), between(output, op.axis_, 0, shift)}};
  });
}

Gradients RollOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  return Gradients(std::make_shared<const RollOp>(axis_, places_, !forward_)->apply(output_gradients.first(1), node.where()).output());
}

}  // namespace damo
