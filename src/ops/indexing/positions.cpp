#include "ops/indexing/positions.hpp"

#include <algorithm>
#include <memory>

#include <damo/kernel_op.hpp>
#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/walks.hpp"
#include "ops/sort/searchsorted_op.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/backend.hpp"
#include "runtime/data_report.hpp"
#include "runtime/exec/repeat_state.hpp"
#include "runtime/stream/capture.hpp"

namespace damo {
namespace {

constexpr const char* kSource = R"(
template <class Position>
__global__ void check_positions(const Position* positions, long long count, long long least, long long extent, const long long* before, long long* checked, volatile long long* found) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const Position position = positions[i];
    const long long at = position > 0 && (long long)position < 0 ? 0x7fffffffffffffff : (long long)position;  // beyond 2^63 counts from no end
    const bool is_there = at >= least && at < extent;
    if (!is_there) {
      found[1] = (long long)position;
      found[2] = extent;
      found[0] = 1;
    }
    checked[i] = (before ? before[i] * extent : 0) + (!is_there ? 0 : at < 0 ? at + extent : at);
  }
}
)";

std::string type_name(DType dtype) {
  const std::string bits = std::to_string(8 * itemsize(dtype));
  if (bits == "64") return is_signed(dtype) ? "long long" : "unsigned long long";
  return std::string(is_signed(dtype) ? "signed " : "unsigned ") + (bits == "8" ? "char" : bits == "16" ? "short" : "int");
}

[[noreturn]] void refuse_shapes(const std::string& user, const Shape& a, const Shape& b) {
  throw ShapeError(user + ": positions of shapes " + to_string(a) + " and " + to_string(b) + " do not fit together", "they have one shape, or types that say 1 where they stretch");
}

class CheckedPositionsOp final : public Op {
 public:
  CheckedPositionsOp(std::string user, int axis, int from_end, int axes, CountsFromEnd counts) : user_(std::move(user)), axis_(axis), from_end_(from_end), axes_(axes), counts_(counts) {}
  std::string name() const override { return "checked_positions"; }
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  bool may_refuse() const override { return true; }
  Props props() const override { return {{"for", user_}, {"axis", std::int64_t{axis_}}, {"of", std::int64_t{-from_end_}}, {"axes", std::int64_t{axes_}}, {"negative", counts_ == CountsFromEnd::kYes}}; }
  Apply make_node(Inputs inputs) const override {
    std::vector<Variable> all(inputs.begin(), inputs.end());
    all.at(0) = contiguous(inputs.at(0));
    return {*this, std::move(all), {{int64, inputs.at(0).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    if (extent(inputs[1]) == 0 && inputs[0].size() > 0) refuse_empty_axis(user_, axis_);
    if (inputs.size() > 2 && !(inputs[2] == inputs[0])) refuse_shapes(user_, inputs[2], inputs[0]);  // what stretches was stretched when the graph was built
    return {{inputs[0]}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &positions = context.storage(node.input(0)), &checked = context.storage(node.output());
    const Cell& x = context.storage(node.input(1));
    const Cell* before = node.inputs().size() > 2 ? &context.storage(node.input(2)) : nullptr;
    const std::string name = "check_positions<" + type_name(node.input(0).dtype()) + ">";
    const Kernel kernel = context.compile(kSource, name);
    const auto describe = [user = called_at(node.where(), user_), axis = axis_, where = node.where(), counts = counts_, dtype = node.input(0).dtype()](std::int64_t position, std::int64_t extent) {
      return beyond_axis(user, reported_position(position, dtype), axis, extent, where, counts);
    };
    const auto report = std::make_shared<DataReport>(context.device(), describe);
    Backend& backend = context.device().backend();
    const bool waits = is_host(backend);
    if (waits) {
      context.promise_recordable();  // on a CPU for streams that are captured alone
    } else {
      backend.watch(report);
      context.promise_repeatable();
      context.repeat_state().reports.push_back(report);
      context.promise_contained();
    }
    return [this, self = shared_from_this(), &backend, &positions, &checked, &x, before, kernel, report, waits, from_end = counts_ == CountsFromEnd::kYes] {
      if (!waits) report->check();  // what an earlier call found
      const std::int64_t count = checked.size();
      if (count == 0) return;
      const std::int64_t blocks = std::min<std::int64_t>((count + 255) / 256, 4096);
      const std::int64_t extent = this->extent(x.shape());
      kernel({.grid = {blocks}, .block = {256}}, positions.array(), count, from_end ? -extent : 0, extent, before ? KernelArgument(before->array()) : KernelArgument(nullptr), checked.array(), static_cast<long long*>(report->address()));
      if (!waits) return;
      if (CaptureScope* const capture = current_capture(backend)) capture->check_after(report);
      else report->check();
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable>) const override { return Gradients(node.inputs().size(), Gradient::disconnected()); }

  std::int64_t extent(const Shape& x) const { return walked_extent(x, x.rank() - from_end_, axes_); }

 private:
  std::string user_;
  int axis_;      // as errors call it
  int from_end_;  // of the input that has its extent
  int axes_;
  CountsFromEnd counts_;
};

}  // namespace

namespace {

/// A Variable that x is computed from and that has its extent there: so that x itself need not be in memory for its shape alone. In a
/// graph an operand either stretches, and its type says 1, or has the result's extent.
Variable with_extent(const Variable& x, int from_end) {
  Variable source = x;
  while (source.has_owner()) {
    const Apply node = source.owner();
    const auto* op = dynamic_cast<const KernelOp*>(&node.op());
    if (!op || (op->reduced_axes() && *op->reduced_axes() >> (source.rank() - from_end) & 1u)) return source;
    int found = 0;
    const auto has_extent = [&](int i) { return !op->reads_table(i) && node.input(i).rank() >= from_end && node.input(i).dims()[-from_end] != 1; };
    while (found < static_cast<int>(node.inputs().size()) && !has_extent(found)) ++found;
    if (found == static_cast<int>(node.inputs().size())) return source;
    const Variable next = node.input(found);  // which the node keeps
    source = next;
  }
  return source;
}

}  // namespace

void require_common(const std::string& user, const Shape& a, const Shape& b) {
  for (int axis = 1; axis <= std::min(a.rank(), b.rank()); ++axis) {
    const std::int64_t x = a[-axis], y = b[-axis];
    if (x == y || x == 1 || y == 1 || x == kUnknown || y == kUnknown) continue;
    refuse_shapes(user, a, b);
  }
}

Shape positions_in_lines(const std::string& user, const Shape& x, const Shape& positions, int axis) {
  bool fits = x.rank() == positions.rank();
  Shape lines = positions;
  for (int other = 0; fits && other < x.rank(); ++other) {
    if (other == axis) continue;
    if (lines[other] == kUnknown) lines[other] = x[other];
    fits = x[other] == kUnknown || x[other] == lines[other];
  }
  if (!fits) throw ShapeError(user + ": positions of shape " + to_string(positions) + " do not fit to x of shape " + to_string(x) + " along axis " + std::to_string(axis), "all axes but that one have the same extents");
  return lines;
}

std::int64_t position_on_axis(const std::string& user, std::int64_t position, int axis, std::int64_t extent) {
  if (position < -extent || position >= extent) throw ShapeError(beyond_axis(user, position, axis, extent, {}));
  return position < 0 ? position + extent : position;
}

void refuse_empty_axis(const std::string& user, int axis) {
  throw ShapeError(user + ": there is nothing to take from axis " + std::to_string(axis) + ", which has no elements", "give x elements, or no positions");
}

Scalar reported_position(std::int64_t bits, DType dtype) {
  if (dtype == uint64) return static_cast<std::uint64_t>(bits);
  return bits;
}

ErrorParts beyond_axis(const std::string& user, Scalar position, int axis, std::int64_t extent, SourceLine line, CountsFromEnd counts) {
  ErrorParts parts{user + ": position " + to_string(position) + " is not on axis " + std::to_string(axis) + ", whose extent is " + std::to_string(extent), {}, {}, extent == 0 ? "give x elements, or a slice in the position's place" : "give positions from " + std::to_string(counts == CountsFromEnd::kYes ? -extent : 0) + " to " + std::to_string(extent - 1)};
  if (line) parts.where = user + " built at " + to_string(line);
  return parts;
}

Variable checked_positions(const std::string& user, const Variable& x, int axis, const Variable& positions, SourceLine line, CountsFromEnd counts, int axes, const Variable& before) {
  const Variable operands[] = {x, positions};
  return asked(user, [&] {
    if (!is_integer(positions.dtype())) throw TypeError(user + ": positions are integers, these are " + describe(positions), "cast(positions, int64)");
    const int from_end = x.rank() - axis;
    std::vector<Variable> inputs{positions, axes == 1 ? with_extent(x, from_end) : x};
    if (before) inputs.push_back(before);
    return std::make_shared<const CheckedPositionsOp>(user, axis, from_end, axes, counts)->apply(inputs, line).output();
  }, std::span<const Variable>(operands), line);
}

Variable without_check(const Variable& checked) {
  if (!checked.has_owner()) return checked;
  const Apply node = checked.owner();
  const auto* check = dynamic_cast<const CheckedPositionsOp*>(&node.op());
  if (!check || node.inputs().size() > 2) return checked;
  Variable positions = node.input(0);
  while (positions.has_owner() && positions.owner().op().passes_through(0) == 0) {
    const Variable from = positions.owner().input(0);
    positions = from;
  }
  const std::int64_t extent = check->extent(node.input(1).dims());
  if (extent == kUnknown || !positions.has_owner() || !dynamic_cast<const SearchsortedOp*>(&positions.owner().op())) return checked;
  const std::int64_t searched = positions.owner().input(0).dims()[0];
  return searched != kUnknown && searched < extent ? positions : checked;
}

}  // namespace damo
