#include "ops/indexing/sorted_positions.hpp"

#include <algorithm>
#include <bit>
#include <memory>
#include <utility>

#include <damo/op.hpp>
#include <damo/thunk.hpp>

namespace damo {
namespace {

// A tile is a thread's: neighbouring elements that it goes through in order, which makes the sort stable. starts[digit][tile] is first a
// count, then where the tile's elements of that digit begin.
constexpr const char* kCount = R"(
extern "C" __global__ void count_digits(const long long* keys, long long count, int shift, long long tile, long long tiles, unsigned* starts) {
  const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tiles) return;
  for (int digit = 0; digit < 256; ++digit) starts[digit * tiles + t] = 0;
  const long long end = (t + 1) * tile < count ? (t + 1) * tile : count;
  for (long long i = t * tile; i < end; ++i) starts[((keys[i] >> shift) & 255) * tiles + t] += 1;
}
)";
constexpr const char* kScan = R"(
extern "C" __global__ void scan_counts(unsigned* starts, long long count) {
  __shared__ unsigned sums[256];
  const int t = threadIdx.x;
  const long long share = (count + 255) / 256, begin = t * share, end = begin + share < count ? begin + share : count;
  unsigned sum = 0;
  for (long long i = begin; i < end; ++i) sum += starts[i];
  sums[t] = sum;
  __syncthreads();
  if (t == 0) {
    unsigned before = 0;
    for (int i = 0; i < 256; ++i) {
      const unsigned own = sums[i];
      sums[i] = before;
      before += own;
    }
  }
  __syncthreads();
  unsigned before = sums[t];
  for (long long i = begin; i < end; ++i) {
    const unsigned own = starts[i];
    starts[i] = before;
    before += own;
  }
}
)";
constexpr const char* kMove = R"(
extern "C" __global__ void move_digits(const long long* keys, const long long* order, long long count, int shift, long long tile, long long tiles,
                                       unsigned* starts, long long* keys_out, long long* order_out, int is_first) {
  const long long t = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tiles) return;
  const long long end = (t + 1) * tile < count ? (t + 1) * tile : count;
  for (long long i = t * tile; i < end; ++i) {
    const long long key = keys[i];
    const unsigned to = starts[((key >> shift) & 255) * tiles + t]++;
    keys_out[to] = key;
    order_out[to] = is_first ? i : order[i];
  }
}
)";

class SortedPositionsOp final : public Op {
 public:
  explicit SortedPositionsOp(int axis) : axis_(axis) {}
  std::string name() const override { return "sorted_positions"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    const Shape& dims = inputs.at(0).dims();
    const TensorType type{int64, {dims.is_known() ? dims.size() : kUnknown}};
    return {*this, {inputs.at(0), inputs.at(1)}, {type, type}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    const Shape all{inputs[0].size()};
    if (all[0] >> 32 != 0) throw ShapeError("more than 2^32 positions have no gradient", "take them in parts");
    return {{all, all}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &positions = context.storage(node.input(0)), &x = context.storage(node.input(1));
    Cell &keys = context.storage(node.output(0)), &order = context.storage(node.output(1));
    context.promise_recordable();
    const Kernel count_digits = context.compile(kCount, "count_digits"), scan_counts = context.compile(kScan, "scan_counts"), move_digits = context.compile(kMove, "move_digits");
    return [&positions, &x, &keys, &order, count_digits, scan_counts, move_digits, device = context.device(), axis = axis_] {
      const std::int64_t count = keys.size();
      if (count == 0) return;
      const auto last = static_cast<std::uint64_t>(std::max<std::int64_t>(x.shape()[axis] - 1, 1));
      const int passes = (static_cast<int>(std::bit_width(last)) + 7) / 8;
      // Tiles long enough that their counters, 256 each, are not more than the elements, short enough to keep a GPU's threads busy.
      const std::int64_t tile = std::clamp<std::int64_t>(count / 2048, 32, 1024), tiles = (count + tile - 1) / tile;
      const Array starts = Array::empty({256 * tiles}, uint32, device), other_keys = Array::empty({count}, int64, device), other_order = Array::empty({count}, int64, device);
      // The last pass ends in the outputs.
      std::pair<Array, Array> to{passes % 2 == 1 ? keys.array() : other_keys, passes % 2 == 1 ? order.array() : other_order};
      std::pair<Array, Array> next{passes % 2 == 1 ? other_keys : keys.array(), passes % 2 == 1 ? other_order : order.array()};
      std::pair<Array, Array> from{positions.array(), next.second};
      const LaunchConfig by_tile{.grid = {(tiles + 63) / 64}, .block = {64}};
      for (int pass = 0; pass < passes; ++pass) {
        count_digits(by_tile, from.first, count, 8 * pass, tile, tiles, starts);
        scan_counts({.block = {256}}, starts, 256 * tiles);
        move_digits(by_tile, from.first, from.second, count, 8 * pass, tile, tiles, starts, to.first, to.second, pass == 0 ? 1 : 0);
        from = to;
        std::swap(to, next);
      }
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  int axis_;
};

}  // namespace

SortedPositions sorted_positions(const Variable& positions, const Variable& x, int axis, SourceLine line) {
  const Variable inputs[] = {positions, x};
  const Apply node = std::make_shared<const SortedPositionsOp>(axis)->apply(inputs, line);
  return {node.output(0), node.output(1)};
}

}  // namespace damo
