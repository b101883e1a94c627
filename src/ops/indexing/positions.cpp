#include "ops/indexing/positions.hpp"

#include <algorithm>
#include <memory>

#include <damo/op.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "ops/gradient_parts.hpp"
#include "runtime/array/array_layout.hpp"
#include "runtime/backend.hpp"
#include "runtime/kernel_report.hpp"

namespace damo {
namespace {

constexpr const char* kSource = R"(
template <class Position>
__global__ void check_positions(const Position* positions, long long count, long long extent, long long* checked, volatile long long* found) {
  const long long step = (long long)gridDim.x * blockDim.x;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    const long long at = (long long)positions[i];
    const bool is_there = at >= -extent && at < extent;
    if (!is_there) {
      found[1] = at;
      found[2] = extent;
      found[0] = 1;
    }
    checked[i] = !is_there ? 0 : at < 0 ? at + extent : at;
  }
}
)";

std::string type_name(DType dtype) {
  const std::string bits = std::to_string(8 * itemsize(dtype));
  if (bits == "64") return is_signed(dtype) ? "long long" : "unsigned long long";
  return std::string(is_signed(dtype) ? "signed " : "unsigned ") + (bits == "8" ? "char" : bits == "16" ? "short" : "int");
}

class CheckedPositionsOp final : public Op {
 public:
  CheckedPositionsOp(std::string user, int axis) : user_(std::move(user)), axis_(axis) {}
  std::string name() const override { return "checked_positions"; }
  Props props() const override { return {{"for", user_}, {"axis", std::int64_t{axis_}}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    return {*this, {contiguous(inputs.at(0)), inputs.at(1)}, {{int64, inputs.at(0).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override {
    if (inputs[1][axis_] == 0 && inputs[0].size() > 0) {
      throw ShapeError(user_ + ": there is nothing to take from axis " + std::to_string(axis_) + " of " + to_string(inputs[1]));
    }
    return {{inputs[0]}};
  }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    Cell &positions = context.storage(node.input(0)), &checked = context.storage(node.output());
    const Cell& x = context.storage(node.input(1));
    const std::string name = "check_positions<" + type_name(node.input(0).dtype()) + ">";
    const Kernel kernel = context.compile(kSource, name);
    const auto describe = [user = user_, axis = axis_, where = node.where()](std::int64_t position, std::int64_t extent) {
      return beyond_axis(user, position, axis, extent, where);
    };
    const auto report = std::make_shared<KernelReport>(context.device(), describe);
    Backend& backend = context.device().backend();
    const bool waits = is_host(backend);
    if (!waits) backend.watch(report);
    return [&positions, &checked, &x, kernel, report, axis = axis_, waits] {
      if (!waits) report->check();  // what an earlier call found
      const std::int64_t count = checked.size();
      if (count == 0) return;
      const std::int64_t blocks = std::min<std::int64_t>((count + 255) / 256, 4096);
      kernel({.grid = {blocks}, .block = {256}}, positions.array(), count, x.shape()[axis], checked.array(), static_cast<long long*>(report->address()));
      if (waits) report->check();
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  std::string user_;
  int axis_;
};

}  // namespace

ErrorParts beyond_axis(const std::string& user, std::int64_t position, int axis, std::int64_t extent, SourceLine line) {
  ErrorParts parts{user + ": position " + std::to_string(position) + " is not on axis " + std::to_string(axis) + ", whose extent is " + std::to_string(extent), {}, {},
                   "give positions from " + std::to_string(-extent) + " to " + std::to_string(extent - 1)};
  if (line) parts.where = user + " built at " + to_string(line);
  return parts;
}

Variable checked_positions(const std::string& user, const Variable& x, int axis, const Variable& positions, SourceLine line) {
  if (!is_integer(positions.dtype())) throw TypeError(user + ": positions are integers, these are " + describe(positions), "cast(positions, int64)");
  const Variable inputs[] = {positions, x};
  return std::make_shared<const CheckedPositionsOp>(user, axis)->apply(inputs, line).output();
}

}  // namespace damo
