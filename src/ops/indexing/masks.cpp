#include <damo/ops/masks.hpp>

#include <memory>
#include <numeric>
#include <string>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/scan.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/specify_shape.hpp>
#include <damo/ops/subtensor.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/masked_shape.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/take_at.hpp"
#include "ops/indexing/take_kernels.hpp"
#include "ops/reshape_op.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

constexpr const char* kPositions = R"(
extern "C" __global__ void true_positions(const unsigned char* mask, const long long* until, long long size, long long* positions) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < size; i += step) {
    if (mask[i]) positions[until[i] - 1] = i;
  }
}
)";

/// Where a mask is true, in C order. Inputs: the mask, how many are true up to each element, and x, to whose shape the mask fits; without x any mask does.
class TruePositionsOp final : public Op {
 public:
  explicit TruePositionsOp(std::string user) : user_(std::move(user)) {}
  std::string name() const override { return "true_positions"; }
  bool may_refuse() const override { return true; }  // by how many there are, which may not fit beside what reads them
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"for", user_}}; }
  Apply make_node(Inputs inputs) const override {
    std::vector<Variable> all(inputs.begin(), inputs.end());
    all.at(0) = contiguous(inputs.at(0));
    all.at(1) = contiguous(inputs.at(1));
    return {*this, std::move(all), {{int64, {kUnknown}}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    if (inputs.size() > 2) check_mask(user_, inputs[2], bool_, inputs[0]);
    return std::nullopt;
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &mask = context.storage(node.input(0)), &until = context.storage(node.input(1));
    Cell& positions = context.storage(node.output());
    const Kernel kernel = context.compile(kPositions, "true_positions");
    return [&mask, &until, &positions, kernel] {
      const std::int64_t size = mask.size();
      const std::int64_t count = size == 0 ? 0 : until.array().slice({{size - 1, size}}).item().as_int();
      positions.resize({count});
      if (count > 0) kernel(elements_launch(size), mask.array(), until.array(), size, positions.array());
    };
  }
  Gradients gradient(const Apply& node, std::span<const Variable>) const override { return Gradients(node.inputs().size(), Gradient::disconnected()); }

 private:
  std::string user_;
};

constexpr const char* kCoordinate = R"(
extern "C" __global__ void coordinate(const long long* positions, long long count, long long inner, long long extent, long long* along) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) along[i] = positions[i] / inner % extent;
}
)";

/// Along an axis of x, of whose elements nothing is read, the positions of elements whose numbers in C order are given.
class CoordinateOp final : public Op {
 public:
  explicit CoordinateOp(int axis) : axis_(axis) {}
  std::string name() const override { return "coordinate"; }
  /// Of x only the shape is read.
  bool takes_float8() const override { return true; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {inputs.at(0), inputs.at(1)}, {inputs.at(0).type()}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[0]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &positions = context.storage(node.input(0)), &x = context.storage(node.input(1));
    Cell& along = context.storage(node.output());
    context.promise_repeatable();
    context.promise_contained();
    const Kernel kernel = context.compile(kCoordinate, "coordinate");
    return [&positions, &x, &along, kernel, axis = axis_] {
      if (positions.size() == 0) return;
      kernel(elements_launch(positions.size()), positions.array(), positions.size(), inner_size(x.shape(), axis), x.shape()[axis], along.array());
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  int axis_;
};

}  // namespace

Variable true_positions(const std::string& user, const Variable& mask, const Variable& x, SourceLine line) {
  const At at(line);
  std::vector<Variable> inputs{mask, cumsum(at(cast_at(mask, int64, line)))};
  if (x) inputs.push_back(x);
  return std::make_shared<const TruePositionsOp>(user)->apply(inputs, line).output();
}

namespace {

Variable tensor_of(const Operand& x) { return x.as(x.promotable().dtype); }

/// With the mask's axes as one.
Variable rows_of(const Variable& x, const Variable& mask, SourceLine line) { return mask.rank() == 1 ? x : flatten(At(line)(x), 0, mask.rank() - 1); }

Variable write(const std::string& user, const Operand& operand, const Variable& mask, const Operand& y, ScatterKind how) {
  const SourceLine line = operand.where();
  const At at(line);
  const Variable x = tensor_of(operand);
  if (!mask) throw GraphError(user + ": the mask is an empty Variable", "assign it before it is used");
  check_mask(user, x.dims(), mask.dtype(), mask.dims());
  if (how == ScatterKind::kAdd && x.dtype() == bool_) throw TypeError(user + ": x is bool, which nothing is added to", "cast it to an integer");
  const Variable value = written_value(user, x, y, line);
  if (value.rank() > x.rank() - mask.rank()) {
    const Variable positions = true_positions(user, mask, x, line), rows = rows_of(x, mask, line);
    const Variable written = write_at({user, how, 0, 1}, rows, positions, value, Repeats::kNone, line);
    return mask.rank() == 1 ? written : reshape_like(written, x, line);
  }
  require_fits_behind_mask(user, x.dims(), value.dims());
  std::vector<int> pattern(static_cast<std::size_t>(x.rank()), kNewAxis);
  std::iota(pattern.begin(), pattern.begin() + mask.rank(), 0);
  // An axis known to be 1 would stretch over one that is not known, and neither masks nor x do: both are declared as known as the other.
  Shape of_mask = x.dims();
  for (int axis = 0; axis < mask.rank(); ++axis) {
    if (of_mask[axis] == kUnknown) of_mask[axis] = mask.dims()[axis];
  }
  const Variable known = specify_shape(at(x), of_mask);
  const Variable chosen = specify_shape(at(mask), Shape(std::span(of_mask.begin(), static_cast<std::size_t>(mask.rank()))));
  const Variable fitting = without_stretching(x.dims(), value, line);
  return where(at(dimshuffle(at(chosen), pattern)), at(how == ScatterKind::kSet ? fitting : add(at(known), at(fitting))), at(known));
}

}  // namespace

Variable flatnonzero(const Operand& x) {
  return asked("flatnonzero", [&] {
    const Variable from = tensor_of(x);
    const SourceLine line = x.where();
    return true_positions("flatnonzero", from.dtype() == bool_ ? from : neq(At(line)(from), 0), {}, line);
  }, x);
}

std::vector<Variable> nonzero(const Operand& x) {
  return asked("nonzero", [&]() -> std::vector<Variable> {
    const Variable from = tensor_of(x);
    const SourceLine line = x.where();
    if (from.rank() == 0) throw ShapeError("nonzero: x has no axis: " + describe(from), "give it one: expand_dims(x, 0)");
    const Variable positions = true_positions("nonzero", from.dtype() == bool_ ? from : neq(At(line)(from), 0), {}, line);
    if (from.rank() == 1) return {positions};
    std::vector<Variable> along;
    for (int axis = 0; axis < from.rank(); ++axis) {
      const Variable inputs[] = {positions, from};
      along.push_back(std::make_shared<const CoordinateOp>(axis)->apply(inputs, line).output());
    }
    return along;
  }, x);
}

Variable subtensor(const Operand& x, const Variable& mask) {
  const SourceLine line = x.where();
  const Variable from = tensor_of(x);
  const Variable operands[] = {from, mask};
  return asked("subtensor", [&] {
    if (!mask) throw GraphError("subtensor: the mask is an empty Variable", "assign it before it is used");
    if (is_integer(mask.dtype())) return subtensor(x, {AnyIndex<Variable>(mask), ellipsis});
    check_mask("subtensor", from.dims(), mask.dtype(), mask.dims());
    return take_once_at(rows_of(from, mask, line), true_positions("subtensor", mask, from, line), 0, 1, "subtensor", line);
  }, std::span<const Variable>(operands), line);
}

Variable set_subtensor(const Operand& x, const Variable& mask, const Operand& y) {
  if (mask && is_integer(mask.dtype())) return set_subtensor(x, {AnyIndex<Variable>(mask), ellipsis}, y);
  return asked("set_subtensor", [&] { return write("set_subtensor", x, mask, y, ScatterKind::kSet); }, x, y);
}
Variable inc_subtensor(const Operand& x, const Variable& mask, const Operand& y) {
  if (mask && is_integer(mask.dtype())) return inc_subtensor(x, {AnyIndex<Variable>(mask), ellipsis}, y);
  return asked("inc_subtensor", [&] { return write("inc_subtensor", x, mask, y, ScatterKind::kAdd); }, x, y);
}

}  // namespace damo
