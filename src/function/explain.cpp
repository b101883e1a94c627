// Function::explain(): the page. What it says of a node comes from explain_node.
#include <algorithm>
#include <cstdio>

#include "function/explain_node.hpp"
#include "function/function_data.hpp"
#include "graph/print/label.hpp"
#include "ops/contraction_op.hpp"
#include "ops/inner_graph_op.hpp"

namespace damo {
namespace {

constexpr std::size_t kNodes = 60;  // more make nobody wiser

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", value);
  return text;
}

std::string plural(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string kernel_text(const SpecKernel::Variant& variant) {
  const LoadedKernel& kernel = *variant.kernels[0];
  std::string text = kernel.name() + " for " + to_string(variant.layout);
  if (kernel.registers > 0)
    text += ", " + plural(static_cast<std::size_t>(kernel.registers), "register");
  if (kernel.local_bytes > 0)
    text += ", " + std::to_string(kernel.local_bytes) + " bytes of local memory (spills)";
  if (variant.layout.residents > 0) text += ", " + std::to_string(variant.layout.residents) + " blocks resident";
  switch (variant.origin.load(std::memory_order_relaxed)) {
    case ScheduleOrigin::kOnly: break;
    case ScheduleOrigin::kModel: text += "; schedule by the model"; break;
    case ScheduleOrigin::kMeasured: text += "; schedule timed"; break;
    case ScheduleOrigin::kReplaced: text += "; schedule by the model, until another was timed to be faster"; break;
  }
  return text;
}

std::string head_of(const FunctionGraph& graph, NodeId node) {
  std::string text = op_label(graph.op(node)) + " ->";
  for (ValueId output : graph.outputs(node)) text += (text.ends_with(">") ? " " : ", ") + to_string(graph.type(output));
  const std::string lines = lines_of(graph, node);
  return text + (lines.empty() ? "" : "  at " + lines);
}

/// Of the results in a cell: "result 1 is a copy: it is a view of input x".
std::vector<std::string> copies_of(const Program& program, int cell) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < program.results().size(); ++i) {
    const ProgramResult& result = program.results()[i];
    if (result.cell == cell && !result.reason.empty()) lines.push_back("result " + std::to_string(i) + " is a copy: " + result.reason);
  }
  return lines;
}

/// Of the shared variables whose new value is in a cell: "updates w where it lies", and what stands against it.
std::vector<std::string> updates_of(const Program& program, int cell) {
  std::vector<std::string> lines;
  for (const ProgramUpdate& update : program.updates()) {
    if (update.cell != cell) continue;
    const std::string name = program.cells()[static_cast<std::size_t>(update.variable)].name;
    lines.push_back("updates " + (name.empty() ? "a shared variable" : name) +
                    (!update.copied.empty()  ? " by a copy: " + update.copied
                     : !update.apart.empty() ? " in a buffer of its own: " + update.apart
                                             : " where it lies"));
  }
  return lines;
}

/// One node, indented under its number.
std::string node_text(const FunctionGraph& graph, NodeId node, const NodeNumbers& numbers, const Options& options, const FusionRecord& fusion,
                      const Program& program, int number) {
  const std::vector<const SpecKernel*> kernels = program.kernels(number);
  const ProgramNode& planned = program.nodes()[static_cast<std::size_t>(number)];
  std::string text = head_of(graph, node) + "\n";
  for (const std::string& formula : formulas_of(graph, node, numbers, kMostFormulas)) text += "       " + formula + "\n";
  for (const SpecKernel* kernel : kernels) {
    for (const SpecKernel::Variant* variant : kernel->variants()) text += "     kernel " + kernel_text(*variant) + "\n";
  }
  if (dynamic_cast<const ContractionOp*>(&graph.op(node))) {
    const auto library = MatrixLibrary::of(program.device().backend());
    const DType computed = library->computes_as(graph.type(graph.inputs(node)[0]).dtype);
    text += "     by " + (library->has(computed) ? library->engine()->name(computed) : "a kernel of Damo's own") + "\n";
  }
  if (!kernels.empty() && !dynamic_cast<const InnerGraphOp*>(&graph.op(node))) text += "     moves " + traffic_of(graph, node) + "\n";
  for (const std::string& line : overwrites_of(graph, node, numbers, program, planned)) text += "     " + line + "\n";
  std::vector<std::string> copies;
  for (int output : planned.outputs) {
    for (std::string& line : copies_of(program, output)) copies.push_back(std::move(line));
  }
  for (int output : planned.outputs) {
    for (const std::string& line : updates_of(program, output)) text += "     " + line + "\n";
  }
  if (planned.is_view) text += copies.empty() ? "     a view: no kernel, no memory\n" : "     a view\n";
  for (const std::string& line : copies) text += "     " + line + "\n";
  for (const std::string& border : borders_of(graph, node, numbers, options, fusion))
    text += "     ends here: " + border + "\n";
  return text;
}

std::string report_text(const BuildReport& report) {
  std::string text = "built in " + milliseconds(report.graph_milliseconds) + " (graph) and " +
                     milliseconds(report.compile_milliseconds) + " (kernels)\n";
  for (const PassReport& pass : report.passes) {
    text += "  " + pass.name + ": ";
    text += pass.ran ? std::to_string(pass.nodes_before) + " -> " +
                           plural(static_cast<std::size_t>(pass.nodes_after), "node") + " in " +
                           milliseconds(pass.milliseconds)
                     : "switched off";
    text += "\n";
    for (const RuleReport& rule : pass.rules) {
      if (rule.applied > 0) text += "    " + rule.name + ": " + plural(static_cast<std::size_t>(rule.applied), "time") + " in " + milliseconds(rule.milliseconds) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string Function::explain() const {
  const FunctionGraph& graph = held().graph;
  const Program& program = held().executor->program();
  std::string text = "function" + (name().empty() ? "" : " " + name()) + " on " + device().name() + ": " +
                     plural(graph.inputs().size(), "input") + ", " +
                     (program.shared().empty() ? "" : plural(program.shared().size(), "shared variable") + ", ") +
                     plural(static_cast<std::size_t>(graph.node_count()), "node") + ", " +
                     plural(static_cast<std::size_t>(graph.result_count()), "output") +
                     (program.updates().empty() ? "" : ", " + plural(program.updates().size(), "update")) + "\n";
  std::size_t number = 0;
  std::vector<NodeId> order;
  for (const ProgramNode& node : program.nodes()) order.push_back(node.id);
  NodeNumbers numbers;
  for (NodeId node : order) numbers.emplace(node, numbers.size() + 1);
  for (; number < std::min(order.size(), kNodes); ++number) {
    text += "  " + std::to_string(number + 1) + "  " +
            node_text(graph, order[number], numbers, held().options, held().fusion, program, static_cast<int>(number));
  }
  if (number < order.size()) text += "  ... " + plural(order.size() - number, "more node") + "\n";
  for (std::size_t i = 0; i < program.cells().size(); ++i) {
    if (program.cells()[i].producer >= 0) continue;
    for (const std::string& line : updates_of(program, static_cast<int>(i))) text += "  " + line + "\n";
    for (const std::string& line : copies_of(program, static_cast<int>(i))) text += "  " + line + "\n";
  }
  return text + report_text(held().report);
}

}  // namespace damo
