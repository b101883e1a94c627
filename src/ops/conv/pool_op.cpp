#include "ops/conv/pool_op.hpp"

#include <memory>
#include <vector>

#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "ops/gradient_parts.hpp"
#include "runtime/exec/version_table.hpp"

namespace damo {
namespace {

constexpr const char* kNames[] = {"max_pool", "max_pool_gradient", "max_pool_at", "avg_pool", "avg_pool_gradient"};

}  // namespace

std::string PoolOp::name() const { return kNames[static_cast<int>(role_)]; }

Props PoolOp::props() const {
  Props props = form_.props();
  props.push_back({"for", form_.name});
  props.push_back({"window", std::vector<std::int64_t>(window_.begin(), window_.begin() + form_.axes)});
  if (!counts_padding_) props.push_back({"count_include_pad", false});
  return props;
}

Apply PoolOp::make_node(Inputs inputs) const {
  const bool is_one = role_ == PoolingRole::kMax || role_ == PoolingRole::kMean;
  inputs.require_count(is_one ? 1 : 2);
  std::vector<Variable> operands{contiguous(inputs.at(0))};
  if (!is_one) operands.push_back(role_ == PoolingRole::kMeanGradient ? inputs.at(1) : contiguous(inputs.at(1)));
  std::vector<Shape> shapes;
  for (const Variable& operand : operands) shapes.push_back(operand.dims());
  return {*this, operands, {{inputs.at(0).dtype(), shape(shapes)}}};
}

Shapes PoolOp::infer_shape(const Apply&, std::span<const Shape> inputs) const { return {{shape(inputs)}}; }

Shape PoolOp::shape(std::span<const Shape> inputs) const {
  if (role_ == PoolingRole::kMaxGradient) return inputs[0];
  return role_ == PoolingRole::kMeanGradient ? inputs[1] : form_.pooled(inputs[0], window_);
}

std::shared_ptr<const PreparedPooling> PoolOp::prepared(Backend& backend, DType dtype, const Shape& x) const {
  return prepare_pooling(backend, {role_, form_.pooling(dtype, x, window_, form_.pooled(x, window_)), counts_padding_});
}

Thunk PoolOp::make_thunk(const Apply& node, ThunkContext& context) const {
  std::vector<Cell*> cells;
  for (const Variable& input : node.inputs()) cells.push_back(&context.storage(input));
  cells.push_back(&context.storage(node.output()));
  context.promise_repeatable();
  context.promise_contained();
  struct Bound {
    std::shared_ptr<const PreparedPooling> pooling;
  };
  const auto bound = std::make_shared<VersionTable<Bound>>(std::vector<const Cell*>(cells.begin(), cells.end()));
  // The thunk is a node's, which keeps its op.
  return [self = std::static_pointer_cast<const PoolOp>(shared_from_this()), cells, bound, device = context.device(), stream = context.stream()] {
    const Cell& out = *cells.back();
    if (out.size() == 0) return;
    const Bound* found = bound->find();
    if (!found) found = &bound->add({self->prepared(device.backend(), out.dtype(), self->role_ == PoolingRole::kMeanGradient ? out.shape() : cells[0]->shape())});
    const bool has_second = cells.size() == 3 && self->role_ != PoolingRole::kMeanGradient;
    // The gradient of a mean reads y, which stands second in its kernel.
    const void *first = cells[0]->array().data(), *second = has_second ? cells[1]->array().data() : nullptr;
    if (self->role_ == PoolingRole::kMeanGradient) std::swap(first, second);
    found->pooling->run(first, second, out.array().data(), stream.handle());
  };
}

Gradients PoolOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable& g = output_gradients[0];
  const auto made = [&](PoolingRole role, std::vector<Variable> inputs) { return Gradient(std::make_shared<const PoolOp>(role, form_, window_, counts_padding_)->apply(inputs, node.where()).output()); };
  switch (role_) {
    case PoolingRole::kMax: return Gradients{made(PoolingRole::kMaxGradient, {node.input(0), g})};
    case PoolingRole::kMaxGradient: return Gradients{Gradient::disconnected(), made(PoolingRole::kMaxAt, {node.input(0), g})};
    case PoolingRole::kMaxAt: return Gradients{Gradient::disconnected(), made(PoolingRole::kMaxGradient, {node.input(0), g})};
    case PoolingRole::kMean: return Gradients{made(PoolingRole::kMeanGradient, {g, node.input(0)})};
    case PoolingRole::kMeanGradient: return Gradients{made(PoolingRole::kMean, {g}), Gradient::disconnected()};
  }
  return {};
}

}  // namespace damo
