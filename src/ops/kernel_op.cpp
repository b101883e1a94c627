#include <damo/kernel_op.hpp>

#include <algorithm>
#include <utility>

#include "ops/joined_members.hpp"
#include "ops/kernel_thunk.hpp"
#include "ops/lower.hpp"
#include "ops/reductions.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

KernelBuilder::Value KernelBuilder::input(int i) const {
  if (i < 0 || i >= input_count()) throw GraphError(name_ + ": lower asks for input " + std::to_string(i) + " of " + std::to_string(input_count()), "count them from 0, below input_count()");
  return inputs_[static_cast<std::size_t>(i)];
}

KernelBuilder::Value KernelBuilder::ordinal() const {
  if (ordinals_ < 0) throw GraphError(name_ + ": lower asks for its elements' numbers", "let counts_elements() say so");
  return {ordinals_, int64};
}

void KernelBuilder::require(Value value) const {
  const auto is_it = [&](const Value& own) { return own.number == value.number && own.dtype == value.dtype; };
  const int step = value.number - spec_.first_step();
  const bool is_step = step >= 0 && step < static_cast<int>(spec_.steps.size()) && spec_.steps[static_cast<std::size_t>(step)].result == value.dtype;
  if (is_step || is_it({ordinals_, int64}) || std::any_of(inputs_.begin(), inputs_.end(), is_it)) return;
  throw GraphError(name_ + ": lower has a value that is none of its kernel's", "values come from input(), step(), join() and scan() of the builder that lower is given");
}

KernelBuilder::Value KernelBuilder::append(Step step) {
  const Value value{spec_.first_step() + static_cast<int>(spec_.steps.size()), step.result};
  spec_.steps.push_back(std::move(step));
  return value;
}

Step KernelBuilder::step_of(std::string code, const std::vector<Value>& values, std::optional<DType> result, SourceLine where) const {
  if (values.empty()) throw GraphError(name_ + ": a step of lower reads no value", "a number stands in the code: T(0.5)");
  std::vector<Promotable> dtypes;
  Step step;
  for (const Value& value : values) {
    require(value);
    if (!spec_.is_table(value.number)) dtypes.push_back({value.dtype});
    step.inputs.push_back(value.number);
  }
  if (dtypes.empty()) dtypes.push_back({values[0].dtype});  // tables alone
  const DType common = result_type(dtypes);
  step.name = name_;
  step.code = std::move(code);
  step.compute = is_narrow(common) ? float32 : common;
  step.result = result.value_or(common);
  if (where) step.row = {where.file, where.line};
  return step;
}

KernelBuilder::Value KernelBuilder::step(std::string code, std::vector<Value> values, std::optional<DType> result, int cost, SourceLine where) {
  Step step = step_of(std::move(code), values, result, where);
  step.cost = cost;
  return append(std::move(step));
}

KernelBuilder::Value KernelBuilder::join(Join join, std::vector<Value> values, std::optional<DType> result, SourceLine where) {
  Step step = step_of(std::move(join.element), values, result, where);
  step.join = damo::Join{.bytes = static_cast<int>(itemsize(step.compute)), .neutral = std::move(join.neutral), .reduce = std::move(join.reduce), .post = std::move(join.post)};
  return append(std::move(step));
}

KernelBuilder::Value KernelBuilder::scan(Scan scan, std::vector<Value> values, std::optional<DType> result, SourceLine where) {
  Step step = step_of(std::move(scan.element), values, result, where);
  step.join = damo::Join{.bytes = static_cast<int>(itemsize(step.compute)), .neutral = std::move(scan.neutral), .reduce = std::move(scan.reduce), .post = std::move(scan.post),
                         .prefix = scan.exclusive ? Prefix::kExclusive : Prefix::kInclusive};
  return append(std::move(step));
}

std::vector<KernelBuilder::Value> KernelBuilder::append_members(const std::vector<Member>& members, std::string before, Prefix prefix, const std::vector<Value>& values, SourceLine where) {
  Step step = step_of({}, values, {}, where);
  for (const Value& value : values) step.inputs_as.push_back(value.dtype);
  std::vector<JoinedMember> joined;
  for (const Member& member : members) joined.push_back({member.name, member.dtype, member.element, member.neutral, member.reduce});
  try {
    join_members(name_ + ": a join of lower", step, joined, std::move(before));
  } catch (GraphError& error) {
    if (where) error.add_where("joined at " + to_string(where));
    throw;
  }
  step.join->prefix = prefix;
  std::vector<Value> given;
  for (const Member& member : members) {
    step.join->post = "a." + member.name;
    step.result = member.dtype;
    given.push_back(append(step));
  }
  return given;
}

std::vector<KernelBuilder::Value> KernelBuilder::join(JoinOfMembers join, std::vector<Value> values, SourceLine where) {
  return append_members(join.members, std::move(join.before), Prefix::kNone, values, where);
}

std::vector<KernelBuilder::Value> KernelBuilder::scan(ScanOfMembers scan, std::vector<Value> values, SourceLine where) {
  return append_members(scan.members, std::move(scan.before), scan.exclusive ? Prefix::kExclusive : Prefix::kInclusive, values, where);
}

KernelBuilder::Value KernelBuilder::place() { return {append_place(spec_), int64}; }

void KernelBuilder::output(Value value) {
  if (output_) throw GraphError(name_ + ": lower gave a second output", "an op of several outputs is several KernelOps, which fuse");
  require(value);
  output_ = value;
}

namespace {

/// The one shape of what an op reduces or scans, as far as it is known.
Shape common_space(const KernelOp& op, std::span<const Shape> shapes) {
  Shape space = shapes[0];
  for (const Shape& shape : shapes) {
    bool differs = shape.rank() != space.rank();
    for (int axis = 0; !differs && axis < space.rank(); ++axis) {
      differs = shape[axis] != space[axis] && shape[axis] != kUnknown && space[axis] != kUnknown;
      if (space[axis] == kUnknown) space[axis] = shape[axis];
    }
    if (differs) throw ShapeError(op.name() + ": shapes differ: " + to_string(shapes[0]) + " and " + to_string(shape), std::string("give what is ") + (op.scans() != KernelOp::Scans::kNo ? "scanned" : "reduced") + " together one shape");
  }
  return space;
}

}  // namespace

Shape KernelOp::output_shape(std::span<const Shape> dims, std::span<const Shape> shapes) const {
  if (const std::optional<std::uint32_t> axes = reduced_axes()) {
    const Shape space = common_space(*this, shapes);
    return scans() != Scans::kNo ? space : reduced_shape(space, *axes, true);
  }
  std::vector<Shape> own_dims, own_shapes;  // of those that have elements for the output's
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (reads_table(static_cast<int>(i))) continue;
    own_dims.push_back(dims[i]);
    own_shapes.push_back(shapes[i]);
  }
  try {
    return broadcast_values(own_dims, own_shapes);
  } catch (const ShapeError& error) {
    throw ShapeError(name() + ": " + error.parts().message, error.parts().remedy);
  }
}

Apply KernelOp::make_node(Inputs inputs) const {
  const auto refuse_no_input = [&] { throw GraphError(name() + ": a KernelOp has an input", "call it with one"); };
  std::vector<Promotable> dtypes;
  std::vector<Shape> shapes;
  for (const Variable& input : inputs) {
    if (!reads_table(static_cast<int>(shapes.size()))) dtypes.push_back({input.dtype()});
    else if (input.is_constant() && input.rank() == 0) throw GraphError(name() + ": input " + std::to_string(shapes.size()) + " is a table, and a number was given", "give an array, of one element perhaps: constant(Array)");
    shapes.push_back(input.dims());
  }
  if (const std::optional<std::uint32_t> axes = reduced_axes()) {
    if (shapes.empty()) refuse_no_input();
    require_reduced_axes(name(), *axes, shapes[0].rank());
  }
  if (dtypes.empty()) refuse_no_input();
  return {*this, {inputs.begin(), inputs.end()}, {{result_type(dtypes), output_shape(shapes)}}};
}

Shapes KernelOp::infer_shape(const Apply& node, std::span<const Shape> inputs) const {
  if (node.output_count() != 1) {
    throw GraphError(name() + ": a KernelOp has one output, make_node declared " + std::to_string(node.output_count()), "write an op for each: they fuse");
  }
  std::vector<Shape> dims;
  for (const Variable& input : node.inputs()) dims.push_back(input.dims());
  return {{output_shape(dims, inputs)}};
}

Thunk KernelOp::make_thunk(const Apply& node, ThunkContext& context) const {
  return kernel_thunk(damo::lower(*this, node), node, context, reduced_axes().value_or(0));
}

}  // namespace damo
