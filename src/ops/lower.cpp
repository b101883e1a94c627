#include "ops/lower.hpp"

#include <algorithm>
#include <unordered_map>

#include "ops/elementwise_op.hpp"
#include "ops/number_arguments.hpp"
#include "ops/reductions.hpp"

namespace damo {
namespace {

constexpr std::size_t kNameLength = 60;

/// What an op of a graph has to do with arguments.
struct NumbersOf {
  bool is_row = false;
  NumberRule rule = NumberRule::kNever;  // of a row
  bool reduces = false;
};

std::vector<NumbersOf> numbers_of_ops(const FunctionGraph& graph) {
  std::vector<NumbersOf> all(static_cast<std::size_t>(graph.op_limit()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(static_cast<OpId>(i)));  // else of a node that is gone
    const auto* row = dynamic_cast<const ElementwiseOp*>(op);
    all[i] = {row != nullptr, row ? number_rule(*row) : NumberRule::kNever, op && op->reduced_axes()};
  }
  return all;
}

/// The numbers that a graph's nodes read. Each reading of an argument has one of its own, so that the text does not tell
/// which of them are equal; a literal has one for all of its readers.
class Literals {
 public:
  Literals(const FunctionGraph& graph, const std::vector<NodeId>& order, KernelSpec& spec) : graph_(graph), arguments_(number_arguments(graph)) {
    std::size_t next = 0;
    for (NodeId node : order) {
      const auto inputs = graph.inputs(node);
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!graph.is_literal(inputs[i])) continue;
        const Scalar number = graph.number(inputs[i]);
        if (next < arguments_.size() && arguments_[next].node == node && arguments_[next].position == static_cast<int>(i)) {
          ++next;
          spec.numbers.push_back(number);
        } else if (constants_.try_emplace(inputs[i], static_cast<int>(spec.constants.size())).second) {
          spec.constants.push_back(number);
        }
      }
    }
  }
  /// The place of input i of the node among numbers and constants. Asked for in the order of the nodes and their inputs.
  int place(NodeId node, int i) {
    if (next_ < arguments_.size() && arguments_[next_].node == node && arguments_[next_].position == i) return static_cast<int>(next_++);
    return static_cast<int>(arguments_.size()) + constants_.at(graph_.inputs(node)[static_cast<std::size_t>(i)]);
  }

 private:
  const FunctionGraph& graph_;
  const std::vector<Use> arguments_;
  std::unordered_map<ValueId, int> constants_;
  std::size_t next_ = 0;
};

/// "mul_add_tanh", shortened in the middle of long chains: "mul_add_tanh_and_17_more".
std::string name_of(const std::vector<Step>& steps) {
  std::string name;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].is_place) continue;
    if (name.size() + steps[i].name.size() > kNameLength) return name + "_and_" + std::to_string(steps.size() - i) + "_more";
    name += (name.empty() ? "" : "_") + steps[i].name;
  }
  return name.empty() ? steps.front().name : name;
}

}  // namespace

std::vector<Use> number_arguments(const FunctionGraph& graph) {
  const int arrays = static_cast<int>(graph.inputs().size() + graph.outputs().size());
  const std::vector<NumbersOf> ops = numbers_of_ops(graph);
  const bool reduces = std::any_of(ops.begin(), ops.end(), [](const NumbersOf& op) { return op.reduces; });
  int room = room_for_numbers(reduces ? 4 * arrays + 4 : arrays);  // strides along two kinds of axes, in 64 bits, and the magic numbers of both kinds
  std::vector<Use> arguments;
  for (NodeId node : graph.nodes()) {
    const auto inputs = graph.inputs(node);
    if (std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) { return graph.is_literal(input); })) continue;  // computed by the compiler
    const NumbersOf& op = ops[static_cast<std::size_t>(graph.op_id(node))];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (!graph.is_literal(inputs[i])) continue;
      const int bytes = bytes_of_number(graph.type(inputs[i]).dtype), position = static_cast<int>(i);
      if (bytes > room) continue;
      if (op.is_row ? !may_be_argument(op.rule, position, graph.number(inputs[i])) : !kernel_op(graph, node).takes_as_argument(position)) continue;
      room -= bytes;
      arguments.push_back({node, position});
    }
  }
  return arguments;
}

std::vector<int> array_inputs(const Apply& node) {
  std::vector<int> inputs;
  for (std::size_t i = 0; i < node.inputs().size(); ++i) {
    if (!is_literal(node.inputs()[i].constant())) inputs.push_back(static_cast<int>(i));
  }
  return inputs;
}

bool reads_tables(const FunctionGraph& graph, NodeId node) {
  const auto inputs = graph.inputs(node);
  return std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return reads_as_table(graph, node, input); });
}

bool reads_as_table(const FunctionGraph& graph, NodeId node, ValueId value) {
  const auto inputs = graph.inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == value && reads_table(graph, node, static_cast<int>(i))) return true;
  }
  return false;
}

bool is_table(const FunctionGraph& graph, ValueId input) {
  const auto uses = graph.uses(input);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) { return reads_table(graph, use.node, use.position); });
}

std::uint32_t row_axes(const FunctionGraph& graph) {
  std::uint32_t axes = 0;
  for (NodeId node : graph.nodes()) {
    const std::uint32_t reduced = kernel_op(graph, node).reduced_axes().value_or(0);
    if (reduced == 0) continue;
    const bool has_last = reduced >> (graph.type(graph.inputs(node)[0]).dims.rank() - 1) & 1u;
    if (axes == 0 || has_last) axes = reduced;
  }
  return axes;
}

std::uint32_t across_axes(const FunctionGraph& graph) {
  const std::uint32_t rows = row_axes(graph);
  for (NodeId node : graph.nodes()) {
    const std::uint32_t reduced = kernel_op(graph, node).reduced_axes().value_or(rows);
    if (reduced != rows) return reduced;
  }
  return 0;
}

bool has_reductions(const FunctionGraph& graph) {
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) { return kernel_op(graph, node).reduced_axes().has_value(); });
}

/// That a scan follows from no other scan of its op, and an op that reduces gives a value of each row. first: the number of the op's first step.
void check_values(const KernelOp& op, KernelBuilder& builder, std::size_t first) {
  const KernelSpec& spec = builder.spec();
  const bool scans = op.scans() != KernelOp::Scans::kNo;
  std::vector<bool> is_marked;  // of each step of the op: follows from a scan, or is a value of each element
  const auto marked = [&](int value) {
    const int step = value - spec.first_step();
    if (step >= static_cast<int>(first)) return bool(is_marked[static_cast<std::size_t>(step) - first]);
    return !scans && (value < spec.input_count() || step >= 0);  // numbers are the same for all
  };
  for (std::size_t i = first; i < spec.steps.size(); ++i) {
    const Step& step = spec.steps[i];
    const bool follows = std::any_of(step.inputs.begin(), step.inputs.end(), marked);
    if (scans && step.join && follows) throw GraphError(op.name() + ": lower has a scan of what another scan gave", "write an op for each");
    is_marked.push_back(scans ? step.join || follows : !step.join && (follows || step.is_place));
  }
  if (!scans && marked(builder.result()->number)) {
    throw GraphError(op.name() + ": lower gave a value of each element, reduced_axes() says that there is one of each row", "give what a join made of them");
  }
}

/// The number of the value that the node's op gives. rows: the axes that make rows.
int lowered(KernelBuilder& builder, const FunctionGraph& graph, NodeId node, std::uint32_t rows) {
  const KernelOp& op = kernel_op(graph, node);
  const std::size_t first = builder.spec().steps.size();
  for (int i = 0; op.reduced_axes() && i < builder.input_count(); ++i) {
    if (op.reads_table(i)) throw GraphError(op.name() + ": an op that reduces reads no table", "write an op for each: they fuse");
  }
  op.lower(builder);
  for (std::size_t i = first; i < builder.spec().steps.size(); ++i) {
    Step& step = builder.spec().steps[i];
    if (step.is_place && !op.reduced_axes()) throw GraphError(op.name() + ": lower asks for places, reduced_axes() says that nothing is reduced", "return the axes from reduced_axes(), or ask for ordinal()");
    if (!step.join) continue;
    if (!op.reduced_axes()) throw GraphError(op.name() + ": lower has a join, reduced_axes() says that nothing is reduced", "return the axes from reduced_axes()");
    if ((step.join->prefix != Prefix::kNone) != (op.scans() != KernelOp::Scans::kNo)) {
      throw GraphError(op.name() + ": " + (op.scans() == KernelOp::Scans::kNo ? "lower has a scan, scans() says that there is none" : "lower has a join, and scans() says that the op scans"), "an op either reduces or scans: write two, which is two kernels");
    }
    step.join->backward = op.scans() == KernelOp::Scans::kBackward;
    step.join->across = *op.reduced_axes() != rows;
  }
  if (!builder.result()) throw GraphError(op.name() + ": lower gave no output", "call output() with a value");
  if (op.reduced_axes()) check_values(op, builder, first);
  const DType declared = graph.type(graph.outputs(node)[0]).dtype, given = builder.result()->dtype;
  if (given != declared) {
    throw TypeError(op.name() + ": lower gave " + std::string(name(given)) + ", make_node declared " + std::string(name(declared)), "give the last step that result dtype");
  }
  return builder.result()->number;
}

/// The axes that make a graph's rows; axes: 0 if there are none.
struct ReducedSpace {
  explicit ReducedSpace(const FunctionGraph& graph) : axes(row_axes(graph)) {
    for (NodeId node : graph.nodes()) {
      if (kernel_op(graph, node).reduced_axes()) rank = graph.type(graph.inputs(node)[0]).dims.rank();
    }
  }
  /// Whether a value of that type has one element a row.
  bool is_row(const Shape& dims) const {
    bool is_row = axes != 0;
    const int missing = rank - dims.rank();  // negative: axes of its own before those that are reduced
    for (int axis = std::max(0, -missing); axis < dims.rank(); ++axis) is_row &= !(axes >> (missing + axis) & 1u) || dims[axis] == 1;
    return is_row;
  }
  /// Bit a: the axis that is a-th from the last.
  std::uint32_t axes_from_last() const {
    std::uint32_t from_last = 0;
    for (int axis = 0; axis < rank; ++axis) from_last |= (axes >> axis & 1u) << (rank - 1 - axis);
    return from_last;
  }
  int rank = 0;
  std::uint32_t axes = 0;
};

/// Inputs that have one element a row, by their types.
std::vector<bool> row_inputs(const FunctionGraph& graph) {
  const ReducedSpace space(graph);
  std::vector<bool> rows;
  for (ValueId input : graph.inputs()) rows.push_back(space.is_row(graph.type(input).dims));
  return rows;
}

/// The elements' numbers of nodes that count them: an input that counts for all that have the same axes of the space, whose extents are then the same, or where these are
/// the axes that make rows, the places within a row.
class ElementNumbers {
 public:
  ElementNumbers(const FunctionGraph& graph, const std::vector<NodeId>& order, KernelSpec& spec) : graph_(graph), space_(graph), spec_(spec) {
    for (NodeId node : order) {
      const KernelOp& op = kernel_op(graph, node);
      if (!op.counts_elements() || are_places(op, node)) continue;
      const std::uint32_t axes = axes_of(op, node);
      const auto [found, is_new] = inputs_.try_emplace(axes, spec.input_count());
      if (!is_new) continue;
      spec.inputs.push_back(int64);
      spec.rows.push_back(space_.is_row(graph.type(graph.outputs(node)[0]).dims));
      spec.ordinals.resize(static_cast<std::size_t>(found->second));
      spec.ordinals.push_back(axes);
    }
  }

  /// Which value of the spec they are; -1 for a node that does not count. When the inputs of the spec are complete, in the order of the nodes.
  int of(NodeId node) {
    const KernelOp& op = kernel_op(graph_, node);
    if (!op.counts_elements()) return -1;
    if (!are_places(op, node)) return inputs_.at(axes_of(op, node));
    if (place_ < 0) place_ = append_place(spec_);
    return place_;
  }

 private:
  /// Bit a: the axis that is a-th from the last.
  std::uint32_t axes_of(const KernelOp& op, NodeId node) const {
    const Shape& dims = graph_.type(graph_.outputs(node)[0]).dims;
    std::uint32_t axes = 0;
    for (int axis = 0; axis < dims.rank(); ++axis) axes |= dims[axis] != 1 && (op.counted_axes() >> axis & 1u) ? 1u << (dims.rank() - 1 - axis) : 0u;
    return axes;
  }
  /// Whether they count along the axes that make rows. Of an op that counts along all of its axes no: its kernel need not have an array that tells how long rows are.
  bool are_places(const KernelOp& op, NodeId node) const { return space_.axes != 0 && ~op.counted_axes() != 0 && axes_of(op, node) == space_.axes_from_last(); }

  const FunctionGraph& graph_;
  const ReducedSpace space_;
  KernelSpec& spec_;
  std::unordered_map<std::uint32_t, int> inputs_;
  int place_ = -1;
};

/// Without the joins that nobody reads, where another one of the same accumulator is read: a join of several members gives each, an op few of them.
void drop_unread(KernelSpec& spec) {
  const auto first = static_cast<std::size_t>(spec.first_step()), all = first + spec.steps.size();
  std::vector<bool> is_read(all, false), has_reader(all, false);  // the latter by accumulator
  for (int store : spec.stores) is_read[static_cast<std::size_t>(store)] = true;
  for (const Step& step : spec.steps) {
    for (int input : step.inputs) is_read[static_cast<std::size_t>(input)] = true;
  }
  const auto accumulator = [&](std::size_t value) { return static_cast<std::size_t>(spec.accumulator_of(static_cast<int>(value))); };
  for (std::size_t value = first; value < all; ++value) {
    if (is_read[value] && spec.steps[value - first].join) has_reader[accumulator(value)] = true;
  }
  for (std::size_t value = first; value < all; ++value) is_read[value] = is_read[value] || !spec.steps[value - first].join || !has_reader[accumulator(value)];
  spec.keep_steps(is_read);
}

KernelSpec lower(const FunctionGraph& graph) {
  KernelSpec spec;
  std::vector<int> number(static_cast<std::size_t>(graph.value_limit()), -1);
  const auto number_of = [&](ValueId value) -> int& { return number[static_cast<std::size_t>(value)]; };
  for (ValueId input : graph.inputs()) {
    number_of(input) = spec.input_count();
    spec.inputs.push_back(graph.type(input).dtype);
    spec.tables.push_back(is_table(graph, input));
  }
  if (!spec.has_tables()) spec.tables.clear();
  spec.rows = row_inputs(graph);
  const std::vector<NodeId> order = graph.nodes();  // built inputs first
  ElementNumbers numbers(graph, order, spec);
  const std::uint32_t rows = row_axes(graph);
  Literals literals(graph, order, spec);
  for (NodeId node : order) {
    std::vector<KernelBuilder::Value> values;
    for (ValueId input : graph.inputs(node)) {
      const bool is_number = graph.is_literal(input);
      values.push_back({is_number ? spec.input_count() + literals.place(node, static_cast<int>(values.size())) : number_of(input), graph.type(input).dtype});
    }
    KernelBuilder builder(spec, graph.op(node).name(), std::move(values), numbers.of(node));
    number_of(graph.outputs(node)[0]) = lowered(builder, graph, node, rows);
  }
  for (ValueId output : graph.outputs()) {
    spec.stores.push_back(number_of(output));
    spec.outputs.push_back(graph.type(output).dtype);
  }
  drop_unread(spec);
  spec.name = !spec.steps.empty() ? name_of(spec.steps) : spec.has_ordinals() ? "index_along" : "copy";
  return spec;
}

KernelSpec lower(const KernelOp& op, const Apply& node) {
  FunctionGraph alone;
  std::vector<ValueId> values;
  for (const Variable& input : node.inputs()) values.push_back(is_literal(input.constant()) ? alone.add_constant(input.constant()) : alone.add_input(input.type()));
  const TensorType types[] = {node.output().type()};
  alone.add_output(alone.outputs(alone.add(op.shared_from_this(), values, types, {}))[0]);
  return lower(alone);
}

}  // namespace damo
