// take: slices along an axis, copied; its gradient adds them back.
#include <string>

#include <damo/op.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/sorted_positions.hpp"
#include "ops/indexing/take_kernels.hpp"

namespace damo {
namespace {

// x is (outer, extent, inner), positions (count), z (outer, count, inner). Words are elements, whatever they mean.
constexpr const char* kGather = R"(
template <int bytes>
__global__ void gather(const void* x, const long long* positions, void* z, long long rows, long long count, long long extent, long long inner, int wide) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.y;
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step) {
    const long long outer = row / count;
    const Word* from = (const Word*)x + (outer * extent + positions[row - outer * count]) * inner;
    Word* to = (Word*)z + row * inner;
    if (wide) {
      for (long long k = threadIdx.x; k < inner * bytes / 16; k += blockDim.x) ((uint4*)to)[k] = ((const uint4*)from)[k];
    } else {
      for (long long k = threadIdx.x; k < inner; k += blockDim.x) to[k] = from[k];
    }
  }
}
)";

// z is (outer, extent, inner), g (outer, count, inner); keys are sorted, and g's slice order[i] belongs to keys[i]. Each element of z adds
// its own slices in their order.
constexpr const char* kAdd = R"(
__device__ long long first_not_below(const long long* keys, long long count, long long key) {
  long long low = 0, high = count;
  while (low < high) {
    const long long middle = (low + high) / 2;
    if (keys[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

template <class T>
__global__ void add_slices(const T* g, const long long* keys, const long long* order, T* z, long long rows, long long count, long long extent, long long inner) {
  const long long step = (long long)gridDim.x * blockDim.y;
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += step) {
    const long long outer = row / extent, key = row - outer * extent;
    const long long begin = first_not_below(keys, count, key), end = first_not_below(keys, count, key + 1);
    for (long long k = threadIdx.x; k < inner; k += blockDim.x) {
      T sum = 0;
      for (long long i = begin; i < end; ++i) sum += g[(outer * count + order[i]) * inner + k];
      z[row * inner + k] = sum;
    }
  }
}
)";

class TakeOp final : public Op {
 public:
  explicit TakeOp(int axis) : axis_(axis) {}
  std::string name() const override { return "take"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1)}, {{inputs.at(0).dtype(), taken(inputs.at(0).dims(), inputs.at(1).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{taken(inputs[0], inputs[1])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &x = context.storage(node.input(0)), &positions = context.storage(node.input(1));
    Cell& z = context.storage(node.output());
    const auto bytes = static_cast<std::int64_t>(itemsize(x.dtype()));
    context.promise_recordable();
    const Kernel kernel = context.compile(kWords + kGather, "gather<" + std::to_string(bytes) + ">");
    return [&x, &positions, &z, kernel, bytes, axis = axis_] {
      if (z.size() == 0) return;
      const Shape& shape = x.shape();
      const std::int64_t inner = inner_size(shape, axis), rows = z.size() / inner;
      const auto is_wide = [](const Array& array) { return reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0; };
      const bool wide = inner * bytes % 16 == 0 && is_wide(x.array()) && is_wide(z.array());
      kernel(rows_launch(rows, wide ? inner * bytes / 16 : inner), x.array(), positions.array(), z.array(), rows, positions.size(), shape[axis], inner, wide ? 1 : 0);
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  Shape taken(const Shape& x, const Shape& positions) const {
    Shape to;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (axis != axis_) to.push_back(x[axis]);
      else for (std::int64_t extent : positions) to.push_back(extent);
    }
    return to;
  }
  int axis_;
};

/// What take's gradient is: of x's shape, slices of g added where they were taken. Inputs: g, positions in order, where each came from, x for
/// its shape, and the positions as they were, which its own gradient takes.
class AddSlicesOp final : public Op {
 public:
  explicit AddSlicesOp(int axis) : axis_(axis) {}
  std::string name() const override { return "add_slices"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(5);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1), inputs.at(2), inputs.at(3), inputs.at(4)}, {{inputs.at(0).dtype(), inputs.at(3).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[3]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &g = context.storage(node.input(0)), &keys = context.storage(node.input(1)), &order = context.storage(node.input(2));
    Cell& z = context.storage(node.output());
    context.promise_recordable();
    const Kernel kernel = context.compile(kAdd, g.dtype() == float64 ? "add_slices<double>" : "add_slices<float>");
    return [&g, &keys, &order, &z, kernel, axis = axis_] {
      if (z.size() == 0) return;
      const Shape& shape = z.shape();
      const std::int64_t inner = inner_size(shape, axis), rows = z.size() / inner;
      kernel(rows_launch(rows, inner), g.array(), keys.array(), order.array(), z.array(), rows, keys.size(), shape[axis], inner);
    };
  }
  /// What was added from a slice of g comes from there.
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    Gradients gradients(node.inputs().size(), Gradient::disconnected());
    const Variable inputs[] = {output_gradients[0], node.input(4)};
    gradients[0] = std::make_shared<const TakeOp>(axis_)->apply(inputs, node.where()).output();
    return gradients;
  }

 private:
  int axis_;
};

Gradients TakeOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const SourceLine line = node.where();
  const Variable &x = node.input(0), &g = output_gradients[0];
  const SortedPositions sorted = sorted_positions(node.input(1), x, axis_, line);
  // 16-bit sums would round at each addition.
  const Variable inputs[] = {cast_at(g, g.dtype() == float64 ? float64 : float32, line), sorted.positions, sorted.order, x, node.input(1)};
  const Variable sums = std::make_shared<const AddSlicesOp>(axis_)->apply(inputs, line).output();
  return Gradients{Gradient(cast_at(sums, x.dtype(), line)), Gradient::disconnected()};
}

}  // namespace

Variable take(const Operand& x, const Operand& positions, int axis) {
  const Variable from = x.as(x.promotable().dtype);
  const int along = asked("take", [&] {
    if (from.rank() == 0) throw ShapeError("take: x has no axis: " + describe(from));
    return normalize_axis(axis, from.rank());
  }, x, positions);
  const Variable inputs[] = {from, checked_positions("take", from, along, positions.as(positions.promotable().dtype), x.where())};
  return std::make_shared<const TakeOp>(along)->apply(inputs, x.where()).output();
}

}  // namespace damo
