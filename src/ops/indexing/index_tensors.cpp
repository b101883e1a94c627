// subtensor, set_subtensor and inc_subtensor by indices among which may be tensors, new axes and an ellipsis.
#include <algorithm>
#include <string>
#include <vector>

#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "graph/base/counted.hpp"
#include "graph/user_line.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/indexing/index_plan.hpp"
#include "ops/indexing/masked_shape.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/take_at.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

using Indices = std::span<const AnyIndex<Variable>>;

/// x[indices] at one line.
class IndexedTensor {
 public:
  IndexedTensor(std::string user, const Operand& x, Indices indices)
      : user_(std::move(user)), x_(x.as(x.promotable().dtype)), line_(x.where()), at_(x.where()), indices_(indices), plan_(index_plan(user_, indices, x_.rank(), [&](const Variable& tensor) { return axes_of(tensor); })) {}

  Variable taken() const {
    const Variable from = turned();
    if (plan_.tensors.empty()) return from;
    return take_at(from, positions(), plan_.axis, plan_.axes, line_, plan_.is_turned() || !plan_.takes_all());
  }

  Variable written(ScatterKind kind, const Operand& y) const {
    if (kind == ScatterKind::kAdd && x_.dtype() == bool_) throw TypeError(user_ + ": x is bool, which nothing is added to", "cast it to an integer");
    if (plan_.tensors.empty()) {
      const Operand value = plan_.is_turned() && !y.is_number() ? at_(without_new_axes(y.variable())) : y;
      return kind == ScatterKind::kSet ? set_subtensor(at_(x_), plan_.shortest(), value) : inc_subtensor(at_(x_), plan_.shortest(), value);
    }
    const Variable value = written_value(user_, x_, y, line_);
    Variable part = write_at({user_, kind, plan_.axis, plan_.axes}, turned(), positions(), value, may_repeat() ? Repeats::kMay : Repeats::kNone, line_);
    if (plan_.is_turned()) part = dimshuffle(at_(part), plan_.turned_back);
    return plan_.takes_all() ? part : set_subtensor(at_(x_), plan_.shortest(), at_(part));
  }

 private:
  int axes_of(const Variable& tensor) const {
    if (!tensor) throw GraphError(user_ + ": an index is an empty Variable", "assign it before it is used");
    if (tensor.dtype() != bool_ && !is_integer(tensor.dtype())) throw TypeError(user_ + ": tensors among the indices are integers or bools, this is " + describe(tensor), "cast(index, int64)");
    if (tensor.dtype() == bool_ && tensor.rank() == 0) throw TypeError(user_ + ": a mask has at least one axis, this is " + describe(tensor), "where(condition, x, y) chooses by one bool");
    return tensor.dtype() == bool_ ? tensor.rank() : 1;
  }
  const Variable& tensor(const IndexPlan::Tensor& at) const { return indices_[static_cast<std::size_t>(at.index)].tensor(); }
  /// A mask names no element twice.
  bool may_repeat() const { return plan_.tensors.size() > 1 || tensor(plan_.tensors[0]).dtype() != bool_; }

  Variable turned() const {
    const Variable part = plan_.takes_all() ? x_ : subtensor(at_(x_), plan_.shortest());
    return plan_.is_turned() ? dimshuffle(at_(part), plan_.turned) : part;
  }
  /// y, which fits to the turned part, as it fits to the part.
  Variable without_new_axes(const Variable& y) const {
    std::vector<int> pattern(plan_.turned.size(), kNewAxis);
    const auto missing = static_cast<int>(plan_.turned.size()) - y.rank();
    for (int axis = 0; axis < y.rank() && missing >= 0; ++axis) pattern[static_cast<std::size_t>(missing + axis)] = axis;
    if (missing < 0) throw ShapeError(user_ + ": y has " + counted_axes(y.rank()) + ", the part of x " + std::to_string(plan_.turned.size()), "broadcast or reshape it");
    return dimshuffle(at_(dimshuffle(at_(y), pattern)), plan_.turned_back);
  }

  /// Of the axes that tensors name, in their common shape.
  Variable positions() const {
    std::vector<Variable> each;
    for (const IndexPlan::Tensor& of : plan_.tensors) {
      if (tensor(of).dtype() != bool_) each.push_back(tensor(of));
      else each.push_back(true_positions(user_, tensor(of), masked_axes_first(of), line_));
    }
    for (const Variable& one : each) require_common(user_, each[0].dims(), one.dims());
    const bool differ = std::any_of(each.begin(), each.end(), [&](const Variable& one) { return stretches(one.dims(), each[0].dims()) || stretches(each[0].dims(), one.dims()); });
    if (differ) {
      Variable common;
      for (Variable& one : each) {
        one = cast_at(one, int64, line_);
        common = common ? second(at_(common), at_(one)) : one;
      }
      for (Variable& one : each) {
        if (stretches(one.dims(), common.dims())) one = second(at_(common), at_(one));
      }
    }
    Variable all;
    for (std::size_t i = 0; i < each.size(); ++i) all = checked_positions(user_, x_, plan_.tensors[i].axis, each[i], line_, CountsFromEnd::kYes, plan_.tensors[i].axes, all);
    return all;
  }
  static bool stretches(const Shape& from, const Shape& to) {
    bool does = from.rank() < to.rank();
    for (int axis = 1; axis <= std::min(from.rank(), to.rank()); ++axis) does |= from[-axis] == 1 && to[-axis] != 1;
    return does;
  }
  /// x, to whose first axes the mask has to fit.
  Variable masked_axes_first(const IndexPlan::Tensor& mask) const {
    std::vector<int> pattern;
    for (int axis = 0; axis < mask.axes; ++axis) pattern.push_back(mask.axis + axis);
    for (int axis = 0; axis < x_.rank(); ++axis) {
      if (axis < mask.axis || axis >= mask.axis + mask.axes) pattern.push_back(axis);
    }
    const Variable first = dimshuffle(at_(x_), pattern);
    check_mask(user_, first.dims(), bool_, tensor(mask).dims());
    return first;
  }

  std::string user_;
  Variable x_;
  SourceLine line_;
  At at_;
  Indices indices_;
  IndexPlan plan_;
};

}  // namespace

Variable subtensor(const Operand& x, Indices indices) {
  return asked("subtensor", [&] { return IndexedTensor("subtensor", x, indices).taken(); }, x);
}
Variable set_subtensor(const Operand& x, Indices indices, const Operand& y) {
  return asked("set_subtensor", [&] { return IndexedTensor("set_subtensor", x, indices).written(ScatterKind::kSet, y); }, x, y);
}
Variable inc_subtensor(const Operand& x, Indices indices, const Operand& y) {
  return asked("inc_subtensor", [&] { return IndexedTensor("inc_subtensor", x, indices).written(ScatterKind::kAdd, y); }, x, y);
}

}  // namespace damo
