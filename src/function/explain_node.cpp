#include "function/explain_node.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/print/label.hpp"
#include "ops/contraction_op.hpp"
#include "ops/conv/conv_op.hpp"
#include "ops/elementwise_op.hpp"
#include "ops/fused_op.hpp"
#include "ops/inner_graph_op.hpp"
#include "ops/lower.hpp"
#include "ops/raw_kernel_op.hpp"

namespace damo {
namespace {

constexpr std::size_t kFormulaLength = 160, kLinesListed = 12, kBordersListed = 4;

/// "(x + y)" for the four operations of arithmetic, else "tanh(x)".
std::string applied(const Op& op, const std::vector<std::string>& operands) {
  static const std::map<std::string, std::string> symbols = {
      {"add", " + "}, {"sub", " - "}, {"mul", " * "}, {"true_div", " / "}};
  const auto symbol = symbols.find(op.name());
  if (symbol != symbols.end() && operands.size() == 2) return "(" + operands[0] + symbol->second + operands[1] + ")";
  std::string text = op_label(op) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i > 0 ? ", " : "") + operands[i];
  return text + ")";
}

std::string without_parentheses(std::string text) {
  if (!text.starts_with("(") || !text.ends_with(")")) return text;
  int depth = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return text;  // the first one closes before the end
  }
  return text.substr(1, text.size() - 2);
}

/// Of an input of a group of which the kernel reads no element: the number that it gets. Else null.
const SizeOp* size_of_input(const FunctionGraph& graph, NodeId node, std::size_t input) {
  const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node));
  return fused ? fused->size(static_cast<int>(input)) : nullptr;
}

/// The op that would take an input of a group, which finds it itself. Else null.
const TakeOp* take_of_input(const FunctionGraph& graph, NodeId node, std::size_t input) {
  const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node));
  return fused ? fused->take(static_cast<int>(input)) : nullptr;
}

/// Whether an input of a group is read amid a frame, which another op would pad it with.
bool is_framed(const FunctionGraph& graph, NodeId node, std::size_t input) {
  const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node));
  return fused && fused->frame(static_cast<int>(input));
}

/// Whether a kernel reads an input at places that it computes.
bool is_table(const FunctionGraph& graph, NodeId node, std::size_t input) {
  const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node));
  return fused ? fused->is_table(static_cast<int>(input)) : reads_table(graph, node, static_cast<int>(input));
}

/// Of a group the inputs that it reads elements of: not positions of those that it takes.
std::size_t array_count(const FunctionGraph& graph, NodeId node) {
  const auto* fused = dynamic_cast<const FusedOp*>(&graph.op(node));
  return fused ? static_cast<std::size_t>(fused->array_count()) : graph.inputs(node).size();
}

bool is_elementwise(const FunctionGraph& graph, NodeId node) {
  return graph.op(node).inner_graph() || dynamic_cast<const KernelOp*>(&graph.op(node));
}

}  // namespace

int cost_of(const FunctionGraph& graph, NodeId node) {
  if (const FunctionGraph* inner = graph.op(node).inner_graph()) {
    int cost = 0;
    for (NodeId member : inner->nodes()) cost += cost_of(*inner, member);
    return cost;
  }
  const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
  return op ? op->cost() : 0;
}

namespace {

/// Why two neighbours that could fuse have a kernel each.
std::string reason_between(const FunctionGraph& graph, NodeId producer, NodeId consumer, const Options& options, const FusionRecord& record) {
  if (!options.fuse) return "fusion is off";
  const Shape &from = graph.type(graph.outputs(producer)[0]).dims, &to = graph.type(graph.outputs(consumer)[0]).dims;
  const std::string shapes = "its shape " + to_string(to) + " is not " + to_string(from);
  const auto limit = [](const std::string& what, int most) { return "together beyond the limit of " + what + " (" + std::to_string(most) + ")"; };
  switch (record.between(producer, consumer)) {
    case Apart::kNone: return from == to ? "the fuser did not see the two side by side" : shapes;
    case Apart::kCycle: return "one kernel would make a cycle through other nodes";
    case Apart::kShape: return shapes + ", and computing it again for each element costs more than reading it";
    case Apart::kReaders: return shapes + ", and others read it too";
    case Apart::kTable: return "it reads elements at places that it computes, so they must be in memory";
    case Apart::kAxes: return "reductions over other axes";
    case Apart::kScan: return "a scan beside what no kernel makes with it, or a scan or a reduction of what a scan gave";
    case Apart::kAcross: return "known when all rows are done";
    case Apart::kOneRow: return "one long row would be the work of one block";
    case Apart::kNeighbours: return "the kernels that it could have joined do not fit together";
    case Apart::kInputs: return limit("inputs", options.fusion.inputs);
    case Apart::kOutputs: return limit("outputs", options.fusion.outputs);
    case Apart::kCost: return "together beyond the limit of cost (" + std::to_string(cost_of(graph, producer) + cost_of(graph, consumer)) + " > " + std::to_string(options.fusion.cost) + ")";
    case Apart::kRegisters: return limit("registers", options.fusion.registers);
    case Apart::kNumbers: return "together they have more numbers than a launch has room for";
  }
  return {};
}

/// What stands between a kernel and a node that never fuses.
std::string what_it_is(const FunctionGraph& graph, NodeId node) {
  const Op& op = graph.op(node);
  const std::string kind = dynamic_cast<const ContractionOp*>(&op)    ? "a matrix product"
                           : dynamic_cast<const ConvolutionOp*>(&op)  ? "a convolution"
                           : dynamic_cast<const InnerGraphOp*>(&op)   ? "a loop or a branch"
                           : dynamic_cast<const RawKernelOp*>(&op)    ? "a user's kernel"
                           : op.view_of(0) >= 0                       ? "a view"
                                                                      : "";
  return "not elementwise" + (kind.empty() ? "" : ": " + kind);
}

/// A value's name, else by the number of its node: "x", "v3", "v3.1".
std::string label_of(const FunctionGraph& graph, ValueId value, const NodeNumbers& numbers) {
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone || !graph.name(value).empty()) return leaf_label(graph, value);
  const std::string text = "v" + std::to_string(numbers.at(owner));
  return graph.outputs(owner).size() == 1 ? text : text + "." + std::to_string(graph.owner_index(value));
}

std::string neighbour(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers) {
  return std::to_string(numbers.at(node)) + " " + graph.op(node).name();
}

}  // namespace

std::vector<std::string> formulas_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers,
                                     std::size_t limit) {
  const FunctionGraph* inner = graph.op(node).inner_graph();
  if (!inner) return {};
  std::vector<std::string> formulas;
  std::unordered_map<ValueId, std::string> text;
  std::size_t positions = inner->inputs().size();
  for (std::size_t i = 0; i < inner->inputs().size(); ++i) {
    const std::string label = label_of(graph, graph.inputs(node)[i], numbers);
    const SizeOp* size = size_of_input(graph, node, i);
    const bool is_taken = take_of_input(graph, node, i) != nullptr;
    text[inner->inputs()[i]] = size ? applied(*size, {label}) : is_taken                ? "take(" + label + ", " + label_of(graph, graph.inputs(node)[positions++], numbers) + ")"
                                                            : is_framed(graph, node, i) ? "pad(" + label + ")"
                                                                                        : label;
  }
  const auto term = [&](ValueId value) { return text.contains(value) ? text[value] : leaf_label(*inner, value); };
  for (NodeId member : inner->toposort()) {
    std::vector<std::string> operands;
    for (ValueId input : inner->inputs(member)) operands.push_back(term(input));
    const ValueId value = inner->outputs(member)[0];
    std::string formula = applied(inner->op(member), operands);
    if (formula.size() > kFormulaLength) formula = shortened(std::move(formula), kFormulaLength);
    const auto outputs = inner->outputs();
    const auto place = std::find(outputs.begin(), outputs.end(), value);
    if (place == outputs.end() && inner->uses(value).size() < 2) {
      text[value] = std::move(formula);
      continue;
    }
    const std::string label =
        place == outputs.end()
            ? "t" + std::to_string(formulas.size() + 1)
            : label_of(graph, graph.outputs(node)[static_cast<std::size_t>(place - outputs.begin())], numbers);
    formulas.push_back(label + " = " + without_parentheses(std::move(formula)));
    text[value] = label;
  }
  if (formulas.size() > limit) {
    const std::size_t more = formulas.size() - limit;
    formulas.resize(limit);
    formulas.push_back("... " + std::to_string(more) + " more");
  }
  return formulas;
}

std::string lines_of(const FunctionGraph& graph, NodeId node) {
  std::map<std::string, std::set<int>> lines;
  const auto add = [&](SourceLine line) {
    if (line) lines[line.file].insert(line.line);
  };
  if (const FunctionGraph* inner = graph.op(node).inner_graph()) {
    for (NodeId member : inner->nodes()) add(inner->where(member));
  } else {
    add(graph.where(node));
  }
  std::string text;
  std::size_t listed = 0;
  for (const auto& [file, numbers] : lines) {
    text += (text.empty() ? "" : "; ") + file + ":";
    for (int number : numbers) {
      if (++listed > kLinesListed) return text + " ...";
      text += (text.ends_with(":") ? "" : ", ") + std::to_string(number);
    }
  }
  return text;
}

const TensorType& type_read(const FunctionGraph& graph, NodeId node, std::size_t input) {
  if (!take_of_input(graph, node, input) && !is_framed(graph, node, input)) return graph.type(graph.inputs(node)[input]);
  const FunctionGraph& inner = *graph.op(node).inner_graph();
  return inner.type(inner.inputs()[input]);
}

std::string traffic_of(const FunctionGraph& graph, NodeId node) {
  const Shape& space = graph.type(graph.outputs(node)[0]).dims;
  std::size_t bytes = 0, broadcast = 0, tables = 0;
  std::set<ValueId> seen;
  for (std::size_t i = 0; i < graph.inputs(node).size(); ++i) {
    const ValueId input = graph.inputs(node)[i];
    if (graph.is_literal(input) || size_of_input(graph, node, i)) continue;
    if (is_table(graph, node, i)) {
      ++tables;
      continue;
    }
    const bool is_taken = take_of_input(graph, node, i) != nullptr, has_positions = i >= array_count(graph, node);
    if (!is_taken && !seen.insert(input).second) continue;
    const TensorType& type = type_read(graph, node, i);
    bool repeats = type.rank() < space.rank() || has_positions;
    for (int axis = 0; axis < type.rank() && !repeats; ++axis) repeats = type.dims[axis] == 1 && space[axis] != 1;
    if (repeats)
      ++broadcast;
    else
      bytes += itemsize(type.dtype);
  }
  for (ValueId output : graph.outputs(node)) bytes += itemsize(graph.type(output).dtype);
  std::string text = std::to_string(bytes) + " bytes an element";
  if (broadcast > 0)
    text += " and " + std::to_string(broadcast) + (broadcast == 1 ? " broadcast input" : " broadcast inputs");
  if (tables > 0) text += " and " + std::to_string(tables) + (tables == 1 ? " table" : " tables");
  return text;
}

std::vector<std::string> overwrites_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers, const Program& program,
                                       const ProgramNode& planned) {
  std::vector<std::string> lines;
  for (std::size_t input = 0; input < planned.inputs.size(); ++input) {
    if (std::find(planned.placed.begin(), planned.placed.end(), static_cast<int>(input)) == planned.placed.end()) continue;
    lines.push_back("has " + label_of(graph, graph.inputs(node)[input], numbers) + " in its place already");
  }
  for (const ProgramOverwrite& overwrite : planned.overwrites) {
    if (!overwrite.in_place && !program.copies_first(planned, overwrite)) continue;
    ValueId input = graph.inputs(node)[static_cast<std::size_t>(overwrite.input)];
    for (NodeId owner = graph.owner(input); owner != NodeId::kNone && graph.op(owner).passes_through(0) >= 0; owner = graph.owner(input))
      input = graph.inputs(owner)[static_cast<std::size_t>(graph.op(owner).passes_through(0))];
    const std::string label = label_of(graph, input, numbers);
    lines.push_back(overwrite.in_place ? "overwrites " + label + " in place"
                                       : "copies " + label + " first: " + overwrite.reason);
  }
  return lines;
}

std::vector<std::string> borders_of(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers, const Options& options, const FusionRecord& record) {
  if (!is_elementwise(graph, node)) return {};
  std::vector<std::string> reasons;
  std::set<std::string> seen;
  const auto add = [&](std::string reason) {
    if (seen.insert(reason).second) reasons.push_back(std::move(reason));
  };
  for (ValueId input : graph.inputs(node)) {
    const NodeId owner = graph.owner(input);
    if (owner != NodeId::kNone && !is_elementwise(graph, owner)) add("reads " + neighbour(graph, owner, numbers) + ": " + what_it_is(graph, owner));
  }
  for (ValueId output : graph.outputs(node)) {
    for (const Use& use : graph.uses(output)) {
      if (use.node != NodeId::kNone) {
        add("feeds " + neighbour(graph, use.node, numbers) + ": " + (is_elementwise(graph, use.node) ? reason_between(graph, node, use.node, options, record) : what_it_is(graph, use.node)));
      } else if (graph.uses(output).size() == 1) {
        add(use.position < graph.result_count() ? "gives result " + std::to_string(use.position) : "gives a shared variable's new value");
      }
    }
    if (reasons.size() > 2 * kBordersListed) break;
  }
  if (reasons.size() > kBordersListed) {
    reasons.resize(kBordersListed);
    reasons.push_back("...");
  }
  return reasons;
}

}  // namespace damo
