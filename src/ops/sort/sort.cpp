#include <algorithm>
#include <numeric>
#include <optional>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/sort.hpp>
#include <damo/ops/subtensor.hpp>
#include <damo/thunk.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/sort/sort_kernels.hpp"

namespace damo {
namespace {

CompileKernel compile_in(ThunkContext& context) {
  return [&context](std::string_view source, std::string_view name) { return context.compile(source, name); };
}

/// Throws ShapeError for a count that lines of such an extent, which may be unknown, do not have.
void require_first(std::int64_t extent, std::int64_t count) {
  if (count < 0) throw ShapeError("topk: the count is " + std::to_string(count), "ask for 0 elements or more");
  if (extent != kUnknown && extent < count) throw ShapeError("topk: " + std::to_string(count) + " elements of lines of " + std::to_string(extent), "ask for as many as there are, or fewer");
}

/// Along the last axis. count: topk's, the places of the first so many; none: of all.
class ArgsortOp final : public Op {
 public:
  ArgsortOp(bool descending, std::optional<std::int64_t> count) : descending_(descending), count_(count) {}
  std::string name() const override { return count_ ? "topk" : "argsort"; }
  Props props() const override {
    if (!count_) return {{"descending", descending_}};
    return {{"descending", descending_}, {"count", *count_}};
  }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(1);
    return {*this, {contiguous(inputs.at(0))}, {{int64, part(inputs.at(0).dims())}}};
  }
  Shapes infer_shape(const Apply&, std::span<const Shape> inputs) const override { return {{part(inputs[0])}}; }
  Thunk make_thunk(const Apply& node, ThunkContext& context) const override {
    const Cell& x = context.storage(node.input(0));
    Cell& order = context.storage(node.output());
    context.promise_recordable();
    context.promise_contained();
    const Argsort argsort(context.device(), compile_in(context), x.dtype());
    context.foresee_memory([&x, argsort, wanted = count_] {
      const std::int64_t count = std::max<std::int64_t>(x.shape()[-1], 1), rows = x.shape().size() / count;
      return ThunkMemory{.workspace = wanted ? argsort.first_bytes(rows, count, *wanted) : argsort.workspace_bytes(rows, count)};
    });
    return [&x, &order, argsort, descending = descending_, wanted = count_] {
      const std::int64_t count = std::max<std::int64_t>(x.shape()[-1], 1), rows = x.size() / count;
      if (wanted) argsort.first(x.array(), rows, count, *wanted, descending, order.array());
      else argsort(x.array(), rows, count, descending, order.array());
    };
  }
  Gradients gradient(const Apply&, std::span<const Variable>) const override { return Gradients{Gradient::disconnected()}; }

 private:
  Shape part(Shape shape) const {
    if (!count_) return shape;
    std::int64_t& extent = shape[shape.rank() - 1];
    require_first(extent, *count_);
    extent = *count_;
    return shape;
  }
  bool descending_;
  std::optional<std::int64_t> count_;
};

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
    const Searchsorted search(compile_in(context), sorted.dtype());
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
  Variable order(bool descending, std::optional<std::int64_t> count = {}) const {
    const Variable lines = axis == x.rank() - 1 ? x : last_to_axis(x);
    const Variable order = std::make_shared<const ArgsortOp>(descending, count)->apply(std::span(&lines, 1), line).output();
    return axis == x.rank() - 1 ? order : last_to_axis(order);
  }
  Variable at(const Variable& order) const { return take_along_axis(At(line)(x), At(line)(order), axis); }

  Variable x;
  SourceLine line;
  int axis = 0;
};

}  // namespace

Variable argsort(const Operand& x, int axis, bool descending) { return Lines("argsort", x, axis).order(descending); }

Variable sort(const Operand& x, int axis, bool descending) {
  const Lines lines("sort", x, axis);
  return lines.at(lines.order(descending));
}

TopK topk(const Operand& x, std::int64_t count, int axis, bool largest) {
  const Lines lines("topk", x, axis);
  return asked("topk", [&]() -> TopK {
    require_first(lines.x.dims()[lines.axis], count);
    const Variable positions = lines.order(largest, count);
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
