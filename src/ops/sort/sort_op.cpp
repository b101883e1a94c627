#include "ops/sort/sort_op.hpp"

#include <algorithm>
#include <string>

#include <damo/ops/indexing.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "ops/gradient_parts.hpp"
#include "ops/indexing/take_kernels.hpp"
#include "ops/sort/sort_kernels.hpp"

namespace damo {
namespace {

CompileKernel compile_in(ThunkContext& context) {
  return [&context](std::string_view source, std::string_view name) { return context.compile(source, name); };
}

/// Of the last axis, and rows of that; 1 and none of nothing.
struct Extents {
  explicit Extents(const Shape& shape) : count(std::max<std::int64_t>(shape[-1], 1)), rows(shape.size() / count) {}
  std::int64_t count, rows;
};

constexpr const char* kPutBack = R"(
template <int bytes>
__global__ void put_back(const void* sorted, const long long* order, void* x, long long size, long long count) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) ((Word*)x)[i / count * count + order[i]] = ((const Word*)sorted)[i];
}
)";

/// The elements of lines to the places that argsort says they had: each place once, so nothing is added up.
class PutBackOp final : public Op {
 public:
  std::string name() const override { return "put_back"; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {contiguous(inputs.at(0)), contiguous(inputs.at(1))}, {{inputs.at(0).dtype(), inputs.at(1).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[1]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &sorted = context.storage(node.input(0)), &order = context.storage(node.input(1));
    Cell& x = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const Kernel kernel = context.compile(kWords + kPutBack, "put_back<" + std::to_string(itemsize(x.dtype())) + ">");
    return [&sorted, &order, &x, kernel] {
      if (x.size() > 0) kernel(elements_launch(x.size()), sorted.array(), order.array(), x.array(), x.size(), x.shape()[-1]);
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const At at(node.where());
    return Gradients{Gradient(take_along_axis(at(output_gradients[0]), at(node.input(1)), -1)), Gradient::disconnected()};
  }
};

}  // namespace

void require_first(std::int64_t extent, std::int64_t count) {
  if (count < 0) throw ShapeError("topk: the count is " + std::to_string(count), "ask for 0 elements or more");
  if (extent != kUnknown && extent < count) throw ShapeError("topk: " + std::to_string(count) + " elements of lines of " + std::to_string(extent), "ask for as many as there are, or fewer");
}

Apply SortOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  const Variable x = contiguous(inputs.at(0));
  std::vector<TensorType> types{{x.dtype(), x.dims()}};
  if (has_order_) types.push_back({int64, x.dims()});
  return {*this, {x}, types};
}

Shapes SortOp::infer_shape(const Apply&, std::span<const Shape> inputs) const {
  return {std::vector<Shape>(has_order_ ? 2 : 1, inputs[0])};
}

Thunk SortOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const Cell& x = context.storage(node.input(0));
  Cell& sorted = context.storage(node.output(0));
  Cell* const order = has_order_ ? &context.storage(node.output(1)) : nullptr;
  context.promise_recordable();
  context.promise_contained();
  const RowSort sort(context.device(), compile_in(context), x.dtype(), has_order_);
  context.foresee_memory([&x, sort] {
    const Extents extents(x.shape());
    return ThunkMemory{.workspace = sort.workspace_bytes(extents.rows, extents.count)};
  });
  return [&x, &sorted, order, sort, descending = descending_] {
    const Extents extents(x.shape());
    sort(x.array(), extents.rows, extents.count, descending, sorted.array(), order ? order->array() : Array());
  };
}

Gradients SortOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable& g = output_gradients[0];
  if (!g) return Gradients{Gradient::disconnected()};
  const Variable order = has_order_ ? node.output(1) : std::make_shared<const ArgsortOp>(descending_)->apply(std::span(&node.input(0), 1), node.where()).output();
  const Variable inputs[] = {g, order};
  return Gradients{Gradient(std::make_shared<const PutBackOp>()->apply(inputs, node.where()).output())};
}

Props ArgsortOp::props() const {
  if (!count_) return {{"descending", descending_}};
  return {{"descending", descending_}, {"count", *count_}};
}

Apply ArgsortOp::make_node(Inputs inputs) const {
  inputs.require_count(1);
  return {*this, {contiguous(inputs.at(0))}, {{int64, part(inputs.at(0).dims())}}};
}

Shapes ArgsortOp::infer_shape(const Apply&, std::span<const Shape> inputs) const { return {{part(inputs[0])}}; }

Thunk ArgsortOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const Cell& x = context.storage(node.input(0));
  Cell& order = context.storage(node.output());
  context.promise_recordable();
  context.promise_contained();
  const RowSort sort(context.device(), compile_in(context), x.dtype(), true);
  context.foresee_memory([&x, sort, wanted = count_] {
    const Extents extents(x.shape());
    return ThunkMemory{.workspace = wanted ? sort.first_bytes(extents.rows, extents.count, *wanted) : sort.workspace_bytes(extents.rows, extents.count)};
  });
  return [&x, &order, sort, descending = descending_, wanted = count_] {
    const Extents extents(x.shape());
    if (wanted) sort.first(x.array(), extents.rows, extents.count, *wanted, descending, order.array());
    else sort(x.array(), extents.rows, extents.count, descending, {}, order.array());
  };
}

Gradients ArgsortOp::gradient(const Apply&, std::span<const Variable>) const { return Gradients{Gradient::disconnected()}; }

Shape ArgsortOp::part(Shape shape) const {
  if (!count_) return shape;
  std::int64_t& extent = shape[shape.rank() - 1];
  require_first(extent, *count_);
  extent = *count_;
  return shape;
}

}  // namespace damo
