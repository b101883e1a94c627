#include "ops/indexing/sorted_positions.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <damo/op.hpp>
#include <damo/thunk.hpp>
#include "ops/indexing/take_kernels.hpp"
#include "ops/indexing/walks.hpp"

namespace damo {
namespace {

constexpr const char* kAsTheyAre = R"(
extern "C" __global__ void as_they_are(const long long* positions, long long count, long long* keys, long long* order) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) keys[i] = positions[i], order[i] = i;
}
)";

class SortedPositionsOp final : public Op {
 public:
  SortedPositionsOp(int axis, int axes) : axis_(axis), axes_(axes) {}
  std::string name() const override { return "sorted_positions"; }
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}, {"axes", std::int64_t{axes_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    const Shape& dims = inputs.at(0).dims();
    const TensorType type{int64, {dims.is_known() ? dims.size() : kUnknown}};
    return {*this, {inputs.at(0), inputs.at(1)}, {type, type}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    const Shape all{inputs[0].size()};
    if (all[0] >> 32 != 0) throw ShapeError("more than 2^32 positions are not sorted, as gradients and writes need it", "take them in parts");
    return {{all, all}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &positions = context.storage(node.input(0)), &x = context.storage(node.input(1));
    Cell &keys = context.storage(node.output(0)), &order = context.storage(node.output(1));
    context.promise_repeatable();
    context.promise_contained();
    if (scatters_in_order(context.device(), x.dtype())) {
      const Kernel kernel = context.compile(kAsTheyAre, "as_they_are");
      return [&positions, &keys, &order, kernel] {
        if (keys.size() > 0) kernel(elements_launch(keys.size()), positions.array(), keys.size(), keys.array(), order.array());
      };
    }
    const PositionSort sort(context.device(), [&](std::string_view source, std::string_view name) { return context.compile(source, name); });
    context.foresee_memory([&positions, &x, sort, axis = axis_, axes = axes_] { return ThunkMemory{.workspace = sort.workspace_bytes(positions.shape().size(), x.shape(), axis, axes)}; });
    return [&positions, &x, &keys, &order, sort, axis = axis_, axes = axes_] { sort(positions.array(), x.shape(), axis, axes, keys.array(), order.array()); };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  int axis_, axes_;
};

}  // namespace

SortedPositions sorted_positions(const Variable& positions, const Variable& x, int axis, int axes, SourceLine line) {
  const Variable inputs[] = {positions, x};
  const Apply node = std::make_shared<const SortedPositionsOp>(axis, axes)->apply(inputs, line);
  return {node.output(0), node.output(1)};
}

namespace {

/// Of the last position.
int bits_of(const Shape& x, int axis, int axes) { return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(walked_extent(x, axis, axes) - 1, 1)))); }

}  // namespace

PositionSort::PositionSort(Device device, const CompileKernel& compile) : device_(device), host_(HostSort::of(device)) {
  if (!host_) radix_.emplace(compile, uint64, true);
}

void PositionSort::operator()(const Array& positions, const Shape& x, int axis, int axes, const Array& sorted, const Array& order) const {
  const auto words = [](const Array& array) { return array.view(uint64, array.shape(), array.strides(), 0); };
  require_sortable(sorted.size());
  if (sorted.size() == 0) return;
  if (host_) host_->order(words(positions), {}, 1, sorted.size(), words(sorted), order);
  else (*radix_)(words(positions), {}, 1, sorted.size(), bits_of(x, axis, axes), words(sorted), order);
}

std::size_t PositionSort::workspace_bytes(std::int64_t count, const Shape& x, int axis, int axes) const {
  return host_ ? HostSort::order_bytes(device_, 1, count) : radix_->workspace_bytes(1, count, bits_of(x, axis, axes));
}

}  // namespace damo
