#include <memory>
#include <string>
#include <vector>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/sort.hpp>
#include <damo/thunk.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/sort/sort_kernels.hpp"
#include "ops/sort/sort_op.hpp"

namespace damo {
namespace {

class SearchsortedOp final : public Op {
 public:
  explicit SearchsortedOp(bool right) : right_(right) {}
  std::string name() const override { return "searchsorted"; }
  Props props() const override { return {{"right", right_}}; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(2);
    require_rank(inputs.at(0), 1);
    return {*this, {contiguous(inputs.at(0)), contiguous(inputs.at(1))}, {{int64, inputs.at(1).dims()}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{inputs[1]}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell &sorted = context.storage(node.input(0)), &values = context.storage(node.input(1));
    Cell& places = context.storage(node.output());
    context.promise_recordable();
    context.promise_contained();
    const Searchsorted search([&](std::string_view source, std::string_view name) { return context.compile(source, name); }, sorted.dtype());
    return [&sorted, &values, &places, search, right = right_] { search(sorted.array(), values.array(), right, places.array()); };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients(2, Gradient::disconnected()); }

 private:
  bool right_;
};

/// What a function that sorts was given, with the axis last.
struct Lines {
  Lines(const char* name, const Operand& given, int asked) : x(given.as(given.promotable().dtype)), line(given.where()) {
    damo::asked(name, [&] {
      require_computed(name, x.dtype());
      axis = normalize_axis(name, asked, x.rank());
    }, given);
  }
  Variable last_to_axis(const Variable& y) const { return swap_axes(At(line)(y), axis, -1); }
  /// What the op, which goes along the last axis, makes of x.
  Variable by(const std::shared_ptr<const Op>& op) const {
    const Variable lines = axis == x.rank() - 1 ? x : last_to_axis(x), made = op->apply(std::span(&lines, 1), line).output();
    return axis == x.rank() - 1 ? made : last_to_axis(made);
  }
  Variable at(const Variable& order) const { return take_along_axis(At(line)(x), At(line)(order), axis); }

  Variable x;
  SourceLine line;
  int axis = 0;
};

}  // namespace

Variable argsort(const Operand& x, int axis, bool descending) { return Lines("argsort", x, axis).by(std::make_shared<const ArgsortOp>(descending)); }

Variable sort(const Operand& x, int axis, bool descending) { return Lines("sort", x, axis).by(std::make_shared<const SortOp>(descending, false)); }

TopK topk(const Operand& x, std::int64_t count, int axis, bool largest) {
  const Lines lines("topk", x, axis);
  return asked("topk", [&]() -> TopK {
    require_first(lines.x.dims()[lines.axis], count);
    const Variable positions = lines.by(std::make_shared<const ArgsortOp>(largest, count));
    return {lines.at(positions), positions};
  }, x);
}

Variable searchsorted(const Operand& sorted, const Operand& values, bool right) {
  const SourceLine line = sorted.where();
  const DType dtype = asked("searchsorted", [&] {
    for (const Operand* x : {&sorted, &values}) require_computed("searchsorted", x->promotable().dtype);
    const Shape dims = sorted.as(sorted.promotable().dtype).dims();
    if (dims.rank() != 1) throw ShapeError("searchsorted: the sorted elements have " + std::to_string(dims.rank()) + " axes, not 1", "flatten them, or search each line by itself");
    return result_type(std::vector{sorted.promotable(), values.promotable()});
  }, sorted, values);
  const Variable inputs[] = {cast_at(sorted.as(dtype), dtype, line), cast_at(values.as(dtype), dtype, line)};
  return std::make_shared<const SearchsortedOp>(right)->apply(inputs, line).output();
}

}  // namespace damo
