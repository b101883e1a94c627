#include <damo/derivatives.hpp>

#include <string>
#include <utility>

#include <damo/ops/math.hpp>
#include <damo/ops/shape.hpp>
#include <damo/rewrite.hpp>
#include "ops/gradient_parts.hpp"

namespace damo {
namespace {

void check_directions(const std::string& who, std::span<const Variable> inputs, std::span<const Variable> directions) {
  if (inputs.size() != directions.size()) {
    throw GraphError(who + ": " + std::to_string(directions.size()) + " directions for " + std::to_string(inputs.size()) + " inputs", "give one for each input");
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i] || !directions[i]) throw GraphError(who + ": input " + std::to_string(i) + " or its direction is an empty Variable", "assign it before it is used");
    if (directions[i].dtype() == inputs[i].dtype() && directions[i].rank() <= inputs[i].rank()) continue;
    throw TypeError(who + ": input " + std::to_string(i) + " is " + to_string(inputs[i].type()) + ", its direction " + to_string(directions[i].type()), "a direction has its input's dtype and shape");
  }
}

/// What stands for an output's gradient until something else does.
Variable stand_in(const Variable& output, SourceLine where) {
  if (!output) throw GraphError("rop: an output is an empty Variable", "assign it before it is used");
  return input(output.type(), "u", where);
}

template <class F>
auto blaming(SourceLine where, const char* what, F build) {
  try {
    return build();
  } catch (Error& error) {
    if (where) error.add_where(std::string("in the ") + what + " asked for at " + to_string(where));
    throw;
  }
}

/// A constant of zeros of the shape but for a 1 at that place.
Variable unit(const TensorType& type, std::int64_t place, SourceLine where) {
  const Scalar one = Scalar(1.0).cast(type.dtype);
  ConstantData data{type, std::vector<std::byte>(static_cast<std::size_t>(type.dims.size()) * itemsize(type.dtype))};
  one.store(data.bytes.data() + static_cast<std::size_t>(place) * itemsize(type.dtype));
  return constant(std::move(data), {}, where);
}

Variable jacobian_of(const Variable& output, const Variable& input, Disconnected disconnected, SourceLine where) {
  if (!output.dims().is_known()) {
    throw ShapeError("jacobian: the extents of " + describe(output) + " are not known, a row is built for each of its elements", "declare them: input({float32, {3}})");
  }
  const Variable u = stand_in(output, where), product = lop(output, u, input, disconnected, where);
  std::vector<Variable> rows;
  for (std::int64_t i = 0; i < output.dims().size(); ++i) {
    const Assignment given{u, unit(output.type(), i, where)};
    rows.push_back(substitute(std::span(&product, 1), std::span(&given, 1), true).front());
  }
  // Each row gets the output's axes, of extent 1; rows are put together along the last of these, then along those before it.
  std::vector<int> pattern(static_cast<std::size_t>(output.rank()), kNewAxis);
  for (int axis = 0; axis < input.rank(); ++axis) pattern.push_back(axis);
  const At at(where);
  if (rows.empty()) {  // its shape is all that it has
    Shape shape = output.dims();
    for (int axis = 0; axis < input.rank(); ++axis) shape.push_back(-1);
    return broadcast_to(at(dimshuffle(at(cast_at(zeros_like(input, where), product.dtype(), where)), pattern)), shape);
  }
  std::vector<Variable> level;
  for (const Variable& row : rows) level.push_back(dimshuffle(at(row), pattern));
  for (int axis = output.rank() - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(output.dims()[axis]);
    std::vector<Variable> next;
    for (std::size_t i = 0; i < level.size(); i += extent) next.push_back(extent == 1 ? level[i] : concatenate(std::span(level).subspan(i, extent), axis, where));
    level = std::move(next);
  }
  return level.front();
}

}  // namespace

std::vector<Variable> rop(std::span<const Variable> outputs, std::span<const Variable> inputs, std::span<const Variable> directions, Disconnected disconnected, SourceLine where) {
  return blaming(where, "derivative", [&] {
    check_directions("rop", inputs, directions);
    std::vector<Variable> stand_ins;
    for (const Variable& output : outputs) stand_ins.push_back(stand_in(output, where));
    const std::vector<Variable> gradients = lop(outputs, stand_ins, inputs, disconnected, where);
    const std::vector<Variable> moved = lop(gradients, directions, stand_ins, Disconnected::kZero, where);
    // Linear in what stands in: its values are read nowhere, but its shape may be, which is the output's.
    std::vector<Assignment> givens;
    for (std::size_t i = 0; i < outputs.size(); ++i) givens.push_back({stand_ins[i], outputs[i]});
    return substitute(moved, givens, true);
  });
}

Variable jacobian(const Variable& output, const Variable& input, Disconnected disconnected, SourceLine where) {
  return blaming(where, "Jacobian", [&] {
    if (!output) throw GraphError("jacobian: the output is an empty Variable", "assign it before it is used");
    return jacobian_of(output, input, disconnected, where);
  });
}

Variable hessian(const Variable& cost, const Variable& input, Disconnected disconnected, SourceLine where) {
  return blaming(where, "Hessian", [&] {
    const Variable first = grad(cost, input, disconnected, where);
    if (!input.dims().is_known()) throw ShapeError("hessian: the extents of " + describe(input) + " are not known, a row is built for each of its elements", "declare them: input({float32, {3}})");
    return jacobian_of(first, input, Disconnected::kZero, where);  // a gradient that does not depend on the input has none
  });
}

std::vector<Variable> hessian_vector_product(const Variable& cost, std::span<const Variable> inputs, std::span<const Variable> directions, Disconnected disconnected, SourceLine where) {
  return blaming(where, "product", [&] {
    check_directions("hessian_vector_product", inputs, directions);
    const std::vector<Variable> first = grad(cost, inputs, disconnected, where);
    return lop(first, directions, inputs, Disconnected::kZero, where);
  });
}

}  // namespace damo
