// TakeOp's thunk and gradient, which adds slices back. WriteAtOp: x with other slices there.
#include "ops/indexing/take_at.hpp"

#include <memory>
#include <numeric>

#include <damo/custom_gradient.hpp>
#include <damo/op.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/slice_sums.hpp"
#include "ops/indexing/sorted_positions.hpp"
#include "ops/indexing/take_kernels.hpp"
#include "ops/indexing/take_op.hpp"
#include "ops/reshape_op.hpp"
#include "runtime/kernel/spec.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {
namespace {

/// What take's gradient is: of x's shape, slices of g added where they were taken. Inputs: g, positions in order, where each came from, x for
/// its shape, and the positions as they were, which its own gradient takes.
class AddSlicesOp final : public Op {
 public:
  AddSlicesOp(int axis, int axes) : axis_(axis), axes_(axes) {}
  std::string name() const override { return "add_slices"; }
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"axes", std::int64_t{axes_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(5);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1), inputs.at(2), inputs.at(3), inputs.at(4)}, {{inputs.at(0).dtype(), inputs.at(3).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[3]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &g = context.storage(node.input(0)), &keys = context.storage(node.input(1)), &order = context.storage(node.input(2));
    Cell& z = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    if (const Cell& x = context.storage(node.input(3)); scatters_in_order(context.device(), x.dtype())) {
      const Cell& positions = context.storage(node.input(4));
      const OrderedScatter scatter([&](std::string_view source, std::string_view name) { return context.compile(source, name); }, g.dtype(), ScatterKind::kAdd, true);
      return [&g, &positions, &z, scatter, axis = axis_, axes = axes_] { scatter(g.array(), positions.array(), z.array(), axis, axes); };
    }
    const SliceSums sums([&](std::string_view source, std::string_view name) { return context.compile(source, name); }, g.dtype());
    return [&g, &keys, &order, &z, sums, axis = axis_, axes = axes_] { sums(g.array(), keys.array(), order.array(), z.array(), axis, axes); };
  }
  /// What was added from a slice of g comes from there.
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    Gradients gradients(node.inputs().size(), Gradient::disconnected());
    gradients[0] = take_at(output_gradients[0], node.input(4), axis_, axes_, node.where());
    return gradients;
  }

 private:
  int axis_, axes_;
};

}  // namespace

Apply TakeOp::make_node(Inputs inputs) const {
  inputs.require_count(2);
  const Variable& x = inputs.at(0);
  return {*this, {strided_ ? x : contiguous(x), inputs.at(1)}, {{x.dtype(), shape(x.dims(), inputs.at(1).dims())}}};
}

Thunk TakeOp::make_thunk(const Apply& node, ThunkContext& context) const {
  const Cell &x = context.storage(node.input(0)), &positions = context.storage(node.input(1));
  Cell& z = context.storage(node.output());
  context.promise_repeatable();
  context.promise_contained();
  const Gather gather([&](std::string_view source, std::string_view name) { return context.compile(source, name); }, x.dtype(), strided_);
  return [&x, &positions, &z, gather, axis = axis_, axes = axes_] { gather(x.array(), positions.array(), z.array(), axis, axes); };
}

namespace {

/// positions: checked ones, in C order.
Gradients gradients_of_take(const Variable& x, const Variable& positions, const Variable& g, int axis, int axes, SourceLine line) {
  const SortedPositions sorted = sorted_positions(positions, x, axis, axes, line);
  // 16-bit sums would round at each addition.
  const Variable inputs[] = {cast_at(g, g.dtype() == float64 ? float64 : float32, line), sorted.positions, sorted.order, x, positions};
  const Variable sums = std::make_shared<const AddSlicesOp>(axis, axes)->apply(inputs, line).output();
  return Gradients{Gradient(cast_at(sums, gradient_dtype(x.dtype()), line)), Gradient::disconnected()};
}

}  // namespace

Gradients TakeOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  return gradients_of_take(node.input(0), node.input(1), output_gradients[0], axis_, axes_, node.where());
}

Apply TakeElementsOp::make_node(Inputs inputs) const {
  inputs.require_count(2);
  return {*this, {inputs.at(0), inputs.at(1)}, {{inputs.at(0).dtype(), inputs.at(1).dims()}}};
}

void TakeElementsOp::lower(KernelBuilder& kernel) const {
  const KernelBuilder::Value x = kernel.input(0), position = kernel.input(1);
  Step step;
  step.name = name();
  step.code = "x0[x1]";
  step.compute = step.result = x.dtype;
  step.inputs = {x.number, position.number};
  step.inputs_as = {x.dtype, int64};
  step.cost = kCost;
  kernel.output(kernel.append(std::move(step)));
}

Gradients TakeElementsOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable& x = node.input(0);
  return gradients_of_take(x, contiguous(node.input(1)), output_gradients[0], 0, x.rank(), node.where());
}

namespace {

constexpr const char* kLasts = R"(
extern "C" __global__ void lasts_of_equals(const long long* keys, const long long* order, long long count, unsigned char* is_last) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) is_last[order[i]] = i + 1 == count || keys[i + 1] != keys[i];
}
)";

/// Of each position whether no later one is equal: whose slice stays of those that are set. Inputs: sorted_positions' results, and its x. Where those are not in
/// order they are sorted here, since nothing before needed it.
class LastsOp final : public Op {
 public:
  LastsOp(int axis, int axes) : axis_(axis), axes_(axes) {}
  std::string name() const override { return "lasts_of_equals"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"axes", std::int64_t{axes_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(3);
    return {*this, {inputs.at(0), inputs.at(1), inputs.at(2)}, {{bool_, inputs.at(0).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &keys = context.storage(node.input(0)), &order = context.storage(node.input(1)), &x = context.storage(node.input(2));
    Cell& lasts = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const CompileKernel compile = [&](std::string_view source, std::string_view name) { return context.compile(source, name); };
    const Kernel kernel = compile(kLasts, "lasts_of_equals");
    if (!scatters_in_order(context.device(), x.dtype())) {
      return [&keys, &order, &lasts, kernel] {
        if (keys.size() > 0) kernel(elements_launch(keys.size()), keys.array(), order.array(), keys.size(), lasts.array());
      };
    }
    const PositionSort sort(context.device(), compile);
    context.foresee_memory([&keys, &x, sort, axis = axis_, axes = axes_] {
      const std::int64_t count = keys.shape().size();
      WorkspaceNeed need;
      for (int i = 0; i < 2; ++i) need.take(static_cast<std::size_t>(count) * itemsize(int64));
      need.pass(sort.workspace_bytes(count, x.shape(), axis, axes));
      return ThunkMemory{.workspace = need.bytes()};
    });
    return [&keys, &x, &lasts, kernel, sort, axis = axis_, axes = axes_] {
      if (keys.size() == 0) return;
      const Array sorted = Array::empty(keys.shape(), int64, keys.array().device()), places = Array::empty(keys.shape(), int64, keys.array().device());
      sort(keys.array(), x.shape(), axis, axes, sorted, places);
      kernel(elements_launch(keys.size()), sorted, places, keys.size(), lasts.array());
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(3, Gradient::disconnected()); }

 private:
  int axis_, axes_;
};

/// Inputs: x, positions, y, and, but where all positions differ, the sorted ones and their order.
class WriteAtOp final : public Op {
 public:
  WriteAtOp(std::string user, ScatterKind kind, int axis, int axes) : user_(std::move(user)), kind_(kind), axis_(axis), axes_(axes) {}
  std::string name() const override { return kind_ == ScatterKind::kAdd ? "add_at" : "write_at"; }
  bool takes_float8() const override { return kind_ == ScatterKind::kSet; }
  Props props() const override { return {{"for", user_}, {"axis", std::int64_t{axis_}}, {"axes", std::int64_t{axes_}}}; }
  Apply make_node(Inputs inputs) const override {
    std::vector<Variable> all(inputs.begin(), inputs.end());
    all.at(0) = contiguous(inputs.at(0));
    const Variable &x = all[0], &y = all[2];
    require_fits_part(user_, taken_shape(x.dims(), all[1].dims(), axis_, axes_), y.dims(), y.dims());
    return {*this, std::move(all), {x.type()}};
  }
  Shapes infer_shape(const Apply& node, std::span<const Shape> inputs) const override {
    require_fits_part(user_, taken_shape(inputs[0], inputs[1], axis_, axes_), inputs[2], node.input(2).dims());
    return {{inputs[0]}};
  }
  int overwrites(int) const override { return 0; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const bool sorted = node.inputs().size() > 3;
    const Cell &positions = context.storage(node.input(1)), &y = context.storage(node.input(2)), &keys = sorted ? context.storage(node.input(3)) : positions;
    const Cell* order = sorted ? &context.storage(node.input(4)) : nullptr;
    Cell& z = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const CompileKernel compile = [&](std::string_view source, std::string_view name) { return context.compile(source, name); };
    if (sorted && scatters_in_order(context.device(), z.dtype())) {
      return [&positions, &y, &z, scatter = OrderedScatter(compile, z.dtype(), kind_), axis = axis_, axes = axes_] {
        scatter(y.array().broadcast_to(taken_shape(z.shape(), positions.shape(), axis, axes)), positions.array(), z.array(), axis, axes);
      };
    }
    const Scatter scatter(compile, z.dtype(), kind_);
    return [&positions, &y, &keys, order, &z, scatter, axis = axis_, axes = axes_] {
      const Shape part = taken_shape(z.shape(), positions.shape(), axis, axes);
      scatter(y.array().broadcast_to(part), keys.array(), order ? order->array() : Array(), z.array(), axis, axes);
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const SourceLine line = node.where();
    const At at(line);
    const Variable &positions = node.input(1), &y = node.input(2), &g = output_gradients[0];
    const bool sets = kind_ == ScatterKind::kSet, repeats = node.inputs().size() > 3;
    Gradients gradients(node.inputs().size(), Gradient::disconnected());
    gradients[0] = !sets ? g : write_at({user_, kind_, axis_, axes_}, g, positions, constant(Scalar(0.0).cast(g.dtype()), line), repeats ? Repeats::kMay : Repeats::kNone, line);
    Variable part = repeats ? take_at(g, positions, axis_, axes_, line) : take_once_at(g, positions, axis_, axes_, user_, line);
    if (sets && repeats) {
      const Variable inputs[] = {node.input(3), node.input(4), node.input(0)};
      const Variable lasts = reshape_like(std::make_shared<const LastsOp>(axis_, axes_)->apply(inputs, line).output(), positions, line);
      std::vector<int> pattern(static_cast<std::size_t>(g.rank() - axis_ - axes_ + positions.rank()), kNewAxis);
      std::iota(pattern.begin(), pattern.begin() + positions.rank(), 0);
      part = where(at(dimshuffle(at(lasts), pattern)), at(part), 0.0);
    }
    gradients[2] = sum_to(part, y.dims(), line);
    return gradients;
  }

 private:
  std::string user_;
  ScatterKind kind_;
  int axis_, axes_;
};

}  // namespace

Variable take_at(const Variable& x, const Variable& positions, int axis, int axes, SourceLine line, bool strided) {
  const bool is_whole = !strided && axes > 0 && axes == x.rank();
  const Variable inputs[] = {x, is_whole ? without_check(positions) : positions};
  if (is_whole) return std::make_shared<const TakeElementsOp>()->apply(inputs, line).output();
  return std::make_shared<const TakeOp>(axis, axes, strided)->apply(inputs, line).output();
}

Variable take_once_at(const Variable& x, const Variable& positions, int axis, int axes, const std::string& user, SourceLine line) {
  const Variable part = take_at(x, positions, axis, axes, line);
  if (!is_floating(x.dtype())) return part;
  const auto back = [form = WriteForm{user, ScatterKind::kSet, axis, axes}, positions, line](auto in, auto, auto g) {
    return Gradients(write_at(form, zeros_like(in[0], line), positions, g[0], Repeats::kNone, line));
  };
  return with_gradient(part, {x}, back, line);
}

Variable write_at(const WriteForm& form, const Variable& x, const Variable& positions, const Variable& y, Repeats repeats, SourceLine line) {
  std::vector<Variable> inputs{x, positions, y};
  if (repeats == Repeats::kMay) {
    const SortedPositions sorted = sorted_positions(positions, x, form.axis, form.axes, line);
    inputs.insert(inputs.end(), {sorted.positions, sorted.order});
  }
  return std::make_shared<const WriteAtOp>(form.user, form.kind, form.axis, form.axes)->apply(inputs, line).output();
}

Variable take(const Operand& x, const Operand& positions, int axis) {
  const Variable from = x.as(x.promotable().dtype);
  const int along = asked("take", [&] { return normalize_axis("take", axis, from.rank()); }, x, positions);
  return take_at(from, checked_positions("take", from, along, positions.as(positions.promotable().dtype), x.where()), along, 1, x.where());
}

Variable take(const Operand& x, const Operand& positions) {
  const At at(x.where());
  return take(at(flatten(at(x.as(x.promotable().dtype)))), positions, 0);
}

Variable put(const Operand& x, const Operand& positions, const Operand& values) {
  return asked("put", [&] {
    const At at(x.where());
    const Variable from = x.as(x.promotable().dtype), given = positions.as(positions.promotable().dtype), line = flatten(at(from));
    const Variable value = values.is_number() ? values.as(from.dtype()) : cast_at(values.variable(), from.dtype(), x.where());
    const Variable places = checked_positions("put", line, 0, given, x.where());
    return reshape_like(write_at({"put", ScatterKind::kSet, 0, 1}, line, places, value, Repeats::kMay, x.where()), from, x.where());
  }, x, positions, values);
}

}  // namespace damo
