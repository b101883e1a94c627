// A row on arrays: checks, dtypes, the shape of the result, and what must be copied before it is overwritten.
#include <algorithm>
#include <vector>

#include <damo/array_math.hpp>
#include <damo/graph_lists.hpp>

#include "graph/base/counted.hpp"
#include "ops/both_worlds.hpp"
#include "ops/eager/kernels.hpp"
#include "ops/eager/overlap.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/promotion.hpp"

namespace damo {
namespace {

using Operands = std::span<const ArrayOperand>;

Device device_of(std::string_view name, Operands inputs) {
  const Array* first = nullptr;
  for (const ArrayOperand& input : inputs) {
    if (input.is_number()) continue;
    if (!first) first = &input.array();
    if (input.array().device() == first->device()) continue;
    throw DeviceError(
        std::string(name) + ": operands lie on " + first->device().name() + " and " + input.array().device().name(),
        "move one of them: x.to(device)");
  }
  if (!first) throw TypeError(std::string(name) + ": no operand is an Array", "use C++'s own arithmetic for numbers");
  return first->device();
}

/// Arrays of one shape, the usual case, make no list.
Shape space_of(std::string_view name, Operands inputs) {
  const Shape* one = nullptr;
  bool same = true;
  for (const ArrayOperand& input : inputs) {
    if (input.is_number()) continue;
    if (!one)
      one = &input.array().shape();
    else
      same &= input.array().shape() == *one;
  }
  if (same) return *one;
  SmallList<Shape, 4> shapes;
  for (const ArrayOperand& input : inputs) {
    if (!input.is_number()) shapes.push_back(input.array().shape());
  }
  try {
    return broadcast_shapes(shapes);
  } catch (const ShapeError& error) {
    ErrorParts parts{std::string(name) + ": " + error.parts().message, {}, {}, error.parts().remedy};
    for (const ArrayOperand& input : inputs) {
      if (!input.is_number()) parts.operands.push_back(describe(input.array()));
    }
    throw ShapeError(std::move(parts));
  }
}

/// What a row needs to know of its operands.
struct Plan {
  Device device;
  DType result;
  SmallList<EagerInput, 4> inputs;

  Plan(const ElementwiseRow& row, Operands operands) : device(device_of(row.name, operands)) {
    asked_at_once(row.name, [&] { look_at(row, operands); }, operands);
  }
  /// Into out.
  void run(const ElementwiseRow& row, const Array& out) const {
    EagerKernels::of(device.backend())->kernel(row, inputs, out.dtype(), false)->run(inputs, out);
  }

 private:
  void look_at(const ElementwiseRow& row, Operands operands) {
    if (static_cast<int>(operands.size()) != arity(row)) {
      throw GraphError(row.name + ": takes " + counted(arity(row), "input") + ", " + were_given(operands.size()));
    }
    const DType common = common_dtype(row, operands.subspan(row.condition_first ? 1 : 0));
    check_takes(row, common);
    for (const ArrayOperand& operand : operands) {
      const bool condition = row.condition_first && inputs.empty();
      if (condition) check_condition(row, operand.promotable().dtype);
      if (!operand.is_number()) {
        inputs.push_back({&operand.array(), {}});
      } else {
        const DType dtype = condition ? bool_ : dtype_of_number(row, operands, operand, common);
        inputs.push_back({nullptr, operand.number().cast(dtype)});
      }
    }
    Promotables promoted;
    for (const EagerInput& input : std::span(inputs).subspan(row.condition_first ? 1 : 0)) promoted.push_back({input.dtype()});
    result = result_of(row, promoted_dtype(row, std::move(promoted)));
  }
};

bool narrows(DType from, DType to) {
  if (kind(from) != kind(to)) return kind(from) > kind(to);
  return is_integer(from) && is_signed(from) && !is_signed(to);
}

void check_target(std::string_view name, const Array& out, const Shape& space, DType result) {
  if (!out) throw TypeError(std::string(name) + ": the result is to go into an empty Array", "make it before, by Array::empty(shape, dtype, device)");
  if (narrows(result, out.dtype())) {
    throw TypeError(
        std::string(name) + ": a result of " + std::string(damo::name(result)) + " does not fit into " + describe(out),
        "write a new array: x = x + y, or astype the right side first");
  }
  const Shape shapes[] = {out.shape(), space};
  Shape both = out.shape();
  try {
    both = broadcast_shapes(shapes);
  } catch (const ShapeError&) {  // said below
    both.push_back(0);
  }
  if (!(both == out.shape())) {
    throw ShapeError(
        std::string(name) + ": a result of shape " + to_string(space) + " does not fit into " + describe(out),
        "slice or reshape one of them");
  }
  check_writable(name, out);
}

}  // namespace

void ArrayOperand::refuse_empty() {
  throw TypeError("an operand is an empty Array", "check the Array with if (array)");
}

Array apply_elementwise(const ElementwiseRow& row, std::initializer_list<ArrayOperand> inputs) {
  const Operands operands(inputs.begin(), inputs.size());
  const Plan plan(row, operands);
  const Array out = Array::empty(space_of(row.name, operands), plan.result, plan.device);
  plan.run(row, out);
  return out;
}

void apply_elementwise(const ElementwiseRow& row, std::initializer_list<ArrayOperand> inputs, const Array& out) {
  const Operands operands(inputs.begin(), inputs.size());
  Plan plan(row, operands);
  if (out && !(out.device() == plan.device)) {
    throw DeviceError(row.name + ": operands lie on " + plan.device.name() + ", the result is to go to " +
                          out.device().name(),
                      "move one of them: x.to(device)");
  }
  check_target(row.name, out, space_of(row.name, operands), plan.result);
  std::vector<Array> copies;
  copies.reserve(plan.inputs.size());
  for (EagerInput& input : plan.inputs) {
    if (!input.array || !would_overwrite(out, *input.array)) continue;
    copies.push_back(packed_copy(*input.array));
    input.array = &copies.back();
  }
  plan.run(row, out);
}

}  // namespace damo
