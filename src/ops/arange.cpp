// Ranges of numbers that are known at the call. Only their length has to be there before they are made; the values are elementwise work on the places in it,
// as of ranges that are known when the graph is built (create.cpp).
#include <memory>
#include <string>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/create.hpp>
#include <damo/ops/math.hpp>
#include <damo/thunk.hpp>
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/range_length.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// int8 zeros, as many as the range from start to stop by step has numbers: something whose places can be counted.
class RangeOp final : public Op {
 public:
  std::string name() const override { return "range"; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(3);
    static constexpr const char* kNames[] = {"start", "stop", "step"};
    for (int i = 0; i < 3; ++i) {
      if (inputs.at(i).rank() == 0) continue;
      const int axes = inputs.at(i).rank();
      throw ShapeError(std::string("arange: ") + kNames[i] + " has " + std::to_string(axes) + (axes == 1 ? " axis" : " axes") + ", and is one number", "take an element of it: subtensor(x, {0})");
    }
    return {*this, {inputs.at(0), inputs.at(1), inputs.at(2)}, {{int8, {kUnknown}}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape>) const override { return std::nullopt; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &start = context.storage(node.input(0)), &stop = context.storage(node.input(1)), &step = context.storage(node.input(2));
    Cell& places = context.storage(node.output());
    return [&start, &stop, &step, &places] {
      places.resize({range_length(start.array().item(), stop.array().item(), step.array().item()).count});
      if (places.size() > 0) assign(places.array(), 0);
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(3, Gradient::disconnected()); }
};

}  // namespace

Variable arange(const Operand& start, const Variable& stop, const Operand& step, std::optional<DType> dtype) {
  const SourceLine line = start.where();
  const BuiltAt here(line);
  return asked(
      "arange", [&] {
        const DType common = result_type(std::vector{start.promotable(), {stop.dtype()}, step.promotable()});
        const DType result = dtype.value_or(common == bool_ ? int64 : common), inner = is_floating(common) || is_floating(result) ? float64 : int64;
        const Variable numbers[] = {given_variable(start), stop, given_variable(step)};
        const Variable place = reduce(ReductionKind::kIndex, std::make_shared<const RangeOp>()->apply(numbers, line).output(), 1, line);
        const At at(line);
        return cast_at(add(at(cast_at(numbers[0], inner, line)), at(mul(at(cast_at(place, inner, line)), at(cast_at(numbers[2], inner, line))))), result, line);
      },
      start, Operand(stop, line.file, line.line), step);
}

Variable arange(const Variable& stop, std::optional<DType> dtype, SourceLine where) { return arange(Operand(0, where.file, where.line), stop, 1, dtype); }

}  // namespace damo
