#include "ops/sum_axes.hpp"

#include <algorithm>

#include <damo/op.hpp>
#include "ops/match_shape.hpp"
#include "ops/sum_axes_thunk.hpp"

namespace damo {
namespace {

/// Sums over axes; the first `dropped` of the input's axes, which are among them, leave the shape, others stay with
/// extent 1.
class SumAxesOp final : public Op {
 public:
  SumAxesOp(std::vector<std::int64_t> axes, int dropped) : axes_(std::move(axes)), dropped_(dropped) {}

  std::string name() const override { return "sum_axes"; }
  Props props() const override { return {{"axes", axes_}, {"dropped", std::int64_t{dropped_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {inputs.at(0)}, {{inputs.at(0).dtype(), summed(inputs.at(0).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{summed(inputs[0])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    return sum_axes_thunk(axes_, node, context);
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    return match_shape(output_gradients[0], node.input(0), node.where());
  }

 private:
  Shape summed(const Shape& from) const {
    Shape to;
    for (int axis = dropped_; axis < from.rank(); ++axis) {
      to.push_back(std::binary_search(axes_.begin(), axes_.end(), axis) ? 1 : from[axis]);
    }
    return to;
  }
  std::vector<std::int64_t> axes_;  // in order
  int dropped_;
};

}  // namespace

Variable sum_to(const Variable& g, const Shape& dims, SourceLine where) {
  const int dropped = g.rank() - dims.rank();
  std::vector<std::int64_t> axes;
  for (int axis = 0; axis < g.rank(); ++axis) {
    if (axis < dropped || (dims[axis - dropped] == 1 && g.dims()[axis] != 1)) axes.push_back(axis);
  }
  if (axes.empty()) return g;
  const Variable inputs[] = {g};
  return std::make_shared<const SumAxesOp>(std::move(axes), dropped)->apply(inputs, where).output();
}

}  // namespace damo
