// take_along_axis: an element of each line for each position; its gradient adds them back, a line after another. one_hot: a line for each
// position.
#include <algorithm>
#include <string>

#include <damo/op.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/take_kernels.hpp"
#include "runtime/backend.hpp"

namespace damo {
namespace {

// x is (outer, extent, inner), positions and z (outer, count, inner). Words are elements, whatever they mean.
constexpr const char* kTake = R"(
template <int bytes>
__global__ void take_along(const void* x, const long long* positions, void* z, long long size, long long count, long long extent, long long inner) {
  typedef typename word<bytes>::type Word;
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
    const long long rest = i / inner, outer = rest / count;
    ((Word*)z)[i] = ((const Word*)x)[(outer * extent + positions[i]) * inner + (i - rest * inner)];
  }
}
)";

// A thread adds up one line, so that an element that was taken twice gets both in order.
constexpr const char* kAddAlong = R"(
template <class T>
__global__ void add_along(const T* g, const long long* positions, T* z, long long lines, long long count, long long extent, long long inner) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long line = (long long)blockIdx.x * blockDim.x + threadIdx.x; line < lines; line += step) {
    const long long outer = line / inner, k = line - outer * inner;
    for (long long j = 0; j < count; ++j) {
      const long long i = (outer * count + j) * inner + k;
      z[(outer * extent + positions[i]) * inner + k] += g[i];
    }
  }
}
)";

class AddAlongOp final : public Op {
 public:
  explicit AddAlongOp(int axis) : axis_(axis) {}
  std::string name() const override { return "add_along_axis"; }
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(3);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1), inputs.at(2)}, {{inputs.at(0).dtype(), inputs.at(2).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[2]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &g = context.storage(node.input(0)), &positions = context.storage(node.input(1));
    Cell& z = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const Kernel kernel = context.compile(kAddAlong, g.dtype() == float64 ? "add_along<double>" : "add_along<float>");
    return [&g, &positions, &z, &backend = context.device().backend(), kernel, axis = axis_] {
      if (z.size() == 0) return;
      const std::uint64_t zero = 0;
      backend.fill(z.array().data(), &zero, itemsize(z.dtype()), static_cast<std::size_t>(z.size()), nullptr);
      if (g.size() == 0) return;
      const std::int64_t count = g.shape()[axis], lines = g.size() / count;
      kernel(elements_launch(lines), g.array(), positions.array(), z.array(), lines, count, z.shape()[axis], inner_size(z.shape(), axis));
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override;

 private:
  int axis_;
};

class TakeAlongOp final : public Op {
 public:
  explicit TakeAlongOp(int axis) : axis_(axis) {}
  std::string name() const override { return "take_along_axis"; }
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1)}, {{inputs.at(0).dtype(), taken(inputs.at(0).dims(), inputs.at(1).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{taken(inputs[0], inputs[1])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &x = context.storage(node.input(0)), &positions = context.storage(node.input(1));
    Cell& z = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const Kernel kernel = context.compile(kWords + kTake, "take_along<" + std::to_string(itemsize(x.dtype())) + ">");
    return [&x, &positions, &z, kernel, axis = axis_] {
      if (z.size() == 0) return;
      kernel(elements_launch(z.size()), x.array(), positions.array(), z.array(), z.size(), z.shape()[axis], x.shape()[axis], inner_size(x.shape(), axis));
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable> output_gradients) const override {
    const SourceLine line = node.where();
    const Variable &x = node.input(0), &g = output_gradients[0];
    // 16-bit sums would round at each addition.
    const Variable inputs[] = {cast_at(g, g.dtype() == float64 ? float64 : float32, line), node.input(1), x};
    const Variable sums = std::make_shared<const AddAlongOp>(axis_)->apply(inputs, line).output();
    return Gradients{Gradient(cast_at(sums, gradient_dtype(x.dtype()), line)), Gradient::disconnected()};
  }

 private:
  Shape taken(const Shape& x, const Shape& positions) const { return positions_in_lines(name(), x, positions, axis_); }
  int axis_;
};

Gradients AddAlongOp::gradient(const Apply& node, std::span<const Variable> output_gradients) const {
  const Variable inputs[] = {output_gradients[0], node.input(1)};
  return Gradients{Gradient(std::make_shared<const TakeAlongOp>(axis_)->apply(inputs, node.where()).output()), Gradient::disconnected(), Gradient::disconnected()};
}

}  // namespace

Variable take_along_axis(const Operand& x, const Operand& positions, int axis) {
  return asked("take_along_axis", [&] {
    const Variable from = x.as(x.promotable().dtype), at = positions.as(positions.promotable().dtype);
    const int along = normalize_axis("take_along_axis", axis, from.rank());
    const Variable inputs[] = {from, checked_positions("take_along_axis", from, along, at, x.where())};
    return std::make_shared<const TakeAlongOp>(along)->apply(inputs, x.where()).output();
  }, x, positions);
}

Variable one_hot(const Operand& positions, std::int64_t count, DType dtype) {
  const Variable at = positions.as(positions.promotable().dtype);
  asked("one_hot", [&] {
    if (!is_integer(at.dtype())) throw TypeError("one_hot: positions are integers, these are " + describe(at), "cast(positions, int64)");
    if (count < 0) throw ShapeError("one_hot: the count is " + std::to_string(count), "it is 0 or more");
  }, positions);
  const SourceLine line = positions.where();
  Shape lines = Shape::filled(at.rank() + 1, -1);
  lines[-1] = count;
  const Variable each = broadcast_to(At(line)(expand_dims(At(line)(cast_at(at, int64, line)), -1)), lines);
  return cast_at(eq(At(line)(index_along(At(line)(each), -1)), At(line)(each)), dtype, line);
}

}  // namespace damo
