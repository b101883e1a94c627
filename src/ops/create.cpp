// Everything here is made of other ops: of a number that stretches, and of the numbers of its elements (index_along). Of ranges whose numbers the call knows
// the length alone has to be there before them.
#include <damo/ops/create.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <damo/op.hpp>
#include <damo/ops/cast.hpp>
#include <damo/ops/math.hpp>
#include <damo/ops/reduce.hpp>
#include <damo/ops/shape.hpp>
#include <damo/thunk.hpp>
#include "graph/base/counted.hpp"
#include "graph/user_line.hpp"
#include "ops/both_worlds.hpp"
#include "ops/create_checks.hpp"
#include "ops/diagonal.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/index_along_op.hpp"
#include "ops/padded_extent.hpp"
#include "ops/range_length.hpp"
#include "ops/reduce_op.hpp"

namespace damo {
namespace {

/// build(), whose errors tell the function and the line: there are no operands.
template <class Build>
Variable made_at(const char* function, SourceLine line, const Build& build) { return asked(function, build, std::span<const Variable>(), line); }

void check_extents(const std::string& function, const Shape& shape, DType dtype) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] >= 0) continue;
    throw ShapeError(function + ": the extent of axis " + std::to_string(axis) + " is " + std::to_string(shape[axis]), "extents are 0 or more; full_like follows those of a Variable");
  }
  if (shape.size() > std::numeric_limits<std::int64_t>::max() / static_cast<std::int64_t>(itemsize(dtype))) {
    throw ShapeError(function + ": a tensor of shape " + to_string(shape) + " and dtype " + std::string(name(dtype)) + " has more than 2^63 bytes", "give lesser extents");
  }
}

Variable filled(const char* function, const Shape& shape, Scalar value, DType dtype, SourceLine line) {
  return made_at(function, line, [&] {
    check_extents(function, shape, dtype);
    const Variable number = constant(value.cast(dtype), line);
    return shape.empty() ? number : broadcast_to(At(line)(number), shape);
  });
}

/// int64: the place of each element along the one axis that has not the extent 1. Nothing of x is read but that extent.
Variable places(const Variable& x, int axis, SourceLine line) { return places_along(x, std::uint32_t{1} << axis, line); }

/// int64 (count,): 0, 1, ...
Variable places(const char* function, std::int64_t count, SourceLine line) { return places(filled(function, {count}, 0, int8, line), 0, line); }

/// start + place * step for each place, computed as inner, cast to dtype.
Variable range_values(const Variable& start, const Variable& place, const Variable& step, DType inner, DType dtype, SourceLine line) {
  const At at(line);
  const auto as_inner = [&](const Variable& x) { return at(cast_at(x, inner, line)); };
  return cast_at(add(as_inner(start), at(mul(as_inner(place), as_inner(step)))), dtype, line);
}

/// Whether a float64 has all numbers of a range of integers: then they are the same counted as integers, which takes less, and nothing where a kernel has an element's place anyway.
bool are_exact_doubles(const Scalar& start, const Scalar& step, std::int64_t count) {
  constexpr double kMost = 0x1p52;  // what rounds here is far from 2^53
  return std::fabs(start.as_double()) + std::fabs(step.as_double()) * static_cast<double>(count) <= kMost;
}

Variable as_row(const Variable& vector, SourceLine line) { return dimshuffle(At(line)(vector), {kNewAxis, 0}); }
Variable as_column(const Variable& vector, SourceLine line) { return dimshuffle(At(line)(vector), {0, kNewAxis}); }

/// (rows, 1), moved by the diagonal: the column that the diagonal has in each row.
Variable moved(const Variable& rows, std::int64_t diagonal, SourceLine line) { return diagonal == 0 ? rows : add(At(line)(rows), At(line)(constant(Scalar(near_diagonal(diagonal)), line))); }

template <class Compare>
Variable compared_places(const char* function, std::int64_t rows, std::int64_t columns, std::int64_t diagonal, DType dtype, SourceLine line, Compare compare) {
  return made_at(function, line, [&] {
    check_extents(function, {rows, columns}, dtype);
    const At at(line);
    const Variable row = moved(as_column(places(function, rows, line), line), diagonal, line), column = as_row(places(function, columns, line), line);
    return cast_at(compare(at(row), at(column)), dtype, line);
  });
}

Variable tensor_of(const Operand& x, const char* function, int rank) {
  const Variable tensor = x.as(x.promotable().dtype);
  asked(function, [&] { require_axes(function, tensor.rank(), rank); }, x);
  return tensor;
}

std::uint32_t all_axes(int rank) { return (std::uint32_t{1} << rank) - 1; }

/// x's shape with the extent 1 along all axes but one. A count reads no element.
Variable only_axis(const Variable& x, int axis, SourceLine line) {
  const std::uint32_t others = all_axes(x.rank()) & ~(std::uint32_t{1} << axis);
  return others == 0 ? x : reduce(ReductionKind::kCount, x, others, line);
}

/// int64, rank 0. Counted in float64, which has all integers up to 2^53.
Variable count(const Variable& x, std::uint32_t axes, SourceLine line) {
  return cast_at(dimshuffle(At(line)(count_of(cast_at(x, float64, line), axes, line)), {}), int64, line);
}

Variable extents_constant(const Shape& dims, SourceLine line) {
  ConstantData data{{int64, {dims.rank()}}, std::vector<std::byte>(static_cast<std::size_t>(dims.rank()) * sizeof(std::int64_t))};
  for (int axis = 0; axis < dims.rank(); ++axis) Scalar(dims[axis]).store(data.bytes.data() + static_cast<std::size_t>(axis) * sizeof(std::int64_t));
  return constant(std::move(data), {}, line);
}

/// int8 zeros, as many as the range from start to stop by step has numbers: something whose places can be counted.
class RangeOp final : public Op {
 public:
  std::string name() const override { return "range"; }
  bool may_refuse() const override { return true; }
  Apply make_node(Inputs inputs) const override {
    inputs.require_count(3);
    static constexpr const char* kNames[] = {"start", "stop", "step"};
    for (int i = 0; i < 3; ++i) {
      if (inputs.at(i).rank() == 0) continue;
      const int axes = inputs.at(i).rank();
      throw ShapeError(std::string("arange: ") + kNames[i] + " has " + counted_axes(axes) + ", and is one number", "take an element of it: subtensor(x, {0})");
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

namespace symbolic {

Variable full(const Shape& shape, Scalar value, DType dtype, SourceLine where) { return filled("full", shape, value, dtype, where); }
Variable zeros(const Shape& shape, DType dtype, SourceLine where) { return filled("zeros", shape, 0, dtype, where); }
Variable ones(const Shape& shape, DType dtype, SourceLine where) { return filled("ones", shape, 1, dtype, where); }

Variable arange(Scalar start, Scalar stop, Scalar step, DType dtype, SourceLine where) {
  return made_at("arange", where, [&] {
    const auto [count, of_integers] = range_length(start, stop, step);
    check_extents("arange", {count}, dtype);
    const DType inner = of_integers && (!is_floating(dtype) || are_exact_doubles(start, step, count)) ? int64 : float64;
    const auto number = [&](const Scalar& value) { return constant(inner == int64 ? Scalar(value.as_int()) : Scalar(value.as_double()), where); };
    return range_values(number(start), places("arange", count, where), number(step), inner, dtype, where);
  });
}

Variable linspace(double start, double stop, std::int64_t count, DType dtype, SourceLine where) {
  return made_at("linspace", where, [&] {
    require_linspace_count(count);
    check_extents("linspace", {count}, dtype);
    const At at(where);
    const auto number = [&](auto value) { return at(constant(Scalar(value), where)); };
    const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0.0;
    const Variable place = places("linspace", count, where);
    Variable values = add(number(start), at(mul(at(cast_at(place, float64, where)), number(step))));
    if (count > 1) values = damo::where(at(eq(at(place), number(count - 1))), number(stop), at(values));
    return cast_at(is_integer(dtype) ? floor(at(values)) : values, dtype, where);
  });
}

Variable eye(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t diagonal, DType dtype, SourceLine where) {
  return compared_places("eye", rows, columns.value_or(rows), diagonal, dtype, where, [](const Operand& row, const Operand& column) { return eq(row, column); });
}
Variable tri(std::int64_t rows, std::optional<std::int64_t> columns, std::int64_t diagonal, DType dtype, SourceLine where) {
  return compared_places("tri", rows, columns.value_or(rows), diagonal, dtype, where, [](const Operand& row, const Operand& column) { return ge(row, column); });
}

}  // namespace symbolic

Variable full_like(const Operand& x, Scalar value, std::optional<DType> dtype) {
  const Variable like = x.as(x.promotable().dtype);
  const DType result = dtype.value_or(like.dtype());
  const At at(x.where());
  return second(at(cast_at(like, result, x.where())), at(constant(value.cast(result), x.where())));
}
Variable zeros_like(const Operand& x, std::optional<DType> dtype) { return full_like(x, 0, dtype); }
Variable ones_like(const Operand& x, std::optional<DType> dtype) { return full_like(x, 1, dtype); }

Variable eye_like(const Operand& x, std::int64_t diagonal, std::optional<DType> dtype) {
  const Variable like = tensor_of(x, "eye_like", 2);
  const SourceLine line = x.where();
  const At at(line);
  const Variable row = places(only_axis(like, 0, line), 0, line), column = places(only_axis(like, 1, line), 1, line);
  return cast_at(eq(at(moved(row, diagonal, line)), at(column)), dtype.value_or(like.dtype()), line);
}

Variable diag(const Operand& x, std::int64_t diagonal) {
  const Variable values = tensor_of(x, "diag", 1);
  return asked("diag", [&] {
    const SourceLine line = x.where();
    const At at(line);
    const Variable zero = constant(Scalar(0).cast(values.dtype()), line);  // 0 itself would make integers of bools
    const std::int64_t far = near_diagonal(diagonal), right = far > 0 ? far : 0, down = far < 0 ? -far : 0;
    const std::int64_t width = padded_extent("diag", std::max<std::int64_t>(values.dims()[0], 0), {right, down}, 0);
    check_extents("diag", {width, width}, values.dtype());
    const Variable by_column = diagonal == 0 ? values : pad(at(values), {PadWidth{right, down}}, at(zero));
    const Variable row = places(as_column(by_column, line), 0, line), column = places(as_row(by_column, line), 1, line);
    return where(at(eq(at(moved(row, diagonal, line)), at(column))), at(as_row(by_column, line)), at(zero));
  }, x);
}

Variable arange(const Operand& start, const Variable& stop, const Operand& step, std::optional<DType> dtype) {
  const SourceLine line = start.where();
  const BuiltAt here(line);
  return asked(
      "arange", [&] {
        const DType common = result_type(std::vector{start.promotable(), {stop.dtype()}, step.promotable()});
        const DType result = dtype.value_or(common == bool_ ? int64 : common);
        const Variable numbers[] = {given_variable(start), stop, given_variable(step)};
        // uint64 and int32 are promoted to float64, which does not have all their numbers.
        const bool of_floats = is_floating(result) || std::any_of(std::begin(numbers), std::end(numbers), [](const Variable& number) { return is_floating(number.dtype()); });
        const DType inner = of_floats ? float64 : int64;
        const Variable place = places(std::make_shared<const RangeOp>()->apply(numbers, line).output(), 0, line);
        return range_values(numbers[0], place, numbers[2], inner, result, line);
      },
      start, Operand(stop, line.file, line.line), step);
}

Variable arange(const Variable& stop, std::optional<DType> dtype, SourceLine where) { return arange(Operand(0, where.file, where.line), stop, 1, dtype); }

Variable shape_of(const Operand& x) {
  const Variable tensor = x.as(x.promotable().dtype);
  const SourceLine line = x.where();
  if (tensor.dims().is_known()) return extents_constant(tensor.dims(), line);
  std::vector<Variable> extents;
  for (int axis = 0; axis < tensor.rank(); ++axis) {
    const std::int64_t known = tensor.dims()[axis];
    extents.push_back(known == kUnknown ? count(only_axis(tensor, axis, line), std::uint32_t{1} << axis, line) : constant(Scalar(known), line));
  }
  return stack(extents, 0, line);
}

Variable size_of(const Operand& x) {
  const Variable tensor = x.as(x.promotable().dtype);
  return count(tensor, all_axes(tensor.rank()), x.where());
}

}  // namespace damo
