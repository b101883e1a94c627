#include <memory>
#include <string>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/indexing.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/sort.hpp>
#include "graph/base/computed_dtype.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/sort/searchsorted_op.hpp"
#include "ops/sort/sort_op.hpp"

namespace damo {
namespace {

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
