// Function::explain().
#include <cstdio>

#include <damo/function.hpp>

namespace damo {
namespace {

std::string milliseconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f ms", value);
  return text;
}

std::string members(const FunctionGraph& inner) {
  std::string text;
  for (NodeId node : inner.nodes()) {
    text += (text.empty() ? "" : ", ") + inner.op(node).name();
    if (text.size() > 100) return text + ", ...";
  }
  return text;
}

}  // namespace

std::string Function::explain() const {
  const FunctionGraph& graph = this->graph();
  std::string text = "function" + (name().empty() ? "" : " " + name()) + " on " + device().name() + ": " + std::to_string(graph.node_count()) + " nodes\n";
  int number = 0;
  for (NodeId node : graph.toposort()) {
    text += "  " + std::to_string(++number) + "  " + graph.describe(node) + ", " + std::to_string(graph.inputs(node).size()) + " inputs, " + std::to_string(graph.outputs(node).size()) + " outputs\n";
    if (const FunctionGraph* inner = graph.op(node).inner_graph()) text += "     " + std::to_string(inner->node_count()) + " ops in one kernel: " + members(*inner) + "\n";
  }
  for (const KernelInfo& kernel : kernels()) {
    text += "  kernel " + kernel.name + " (" + kernel.layout + ")";
    if (kernel.registers > 0) text += ": " + std::to_string(kernel.registers) + " registers, " + std::to_string(kernel.local_bytes) + " bytes of local memory";
    text += "\n";
  }
  text += "  graph " + milliseconds(build_report().graph_milliseconds) + ", kernels " + milliseconds(build_report().compile_milliseconds) + "\n";
  for (const PassReport& pass : build_report().passes) {
    text += "  pass " + pass.name + ": " + (pass.ran ? milliseconds(pass.milliseconds) + ", " + std::to_string(pass.nodes_before) + " -> " + std::to_string(pass.nodes_after) + " nodes" : "switched off") + "\n";
  }
  return text;
}

}  // namespace damo
