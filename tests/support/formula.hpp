// A graph's first output as one line: "add(exp(x), 2)". Ops that a name does not tell carry their props; a value read twice is written twice.
#pragma once
#include <string>

#include <damo/graph.hpp>

namespace damo::testing {

inline std::string props_text(const Op& op) {
  std::string text;
  if (op.name() == "sum" || op.name() == "max") return text;
  for (const auto& [name, value] : op.props()) {
    std::string one = to_string(Props{{name, value}});
    one = one.substr(name.size() + 1);
    while (!one.empty() && (one.front() == '[' || one.front() == '(')) one = one.substr(1, one.size() - 2);
    text += (text.empty() ? "" : ", ") + one;
  }
  return text.empty() ? text : "[" + text + "]";
}

inline std::string formula(const FunctionGraph& graph, ValueId value) {
  if (const ConstantPtr& constant = graph.constant(value)) {
    if (constant->is_scalar()) return to_string(constant->scalar());
    std::string text = to_string(constant->type);
    const std::size_t bytes = itemsize(constant->type.dtype);
    for (std::size_t at = 0; at < constant->bytes.size() && constant->bytes.size() / bytes <= 16; at += bytes) {
      text += (at == 0 ? ": " : " ") + to_string(Scalar::load(constant->type.dtype, constant->bytes.data() + at));
    }
    return text;
  }
  const NodeId node = graph.owner(value);
  if (node == NodeId::kNone) return graph.name(value);
  std::string text = graph.op(node).name() + props_text(graph.op(node)) + "(";
  for (ValueId input : graph.inputs(node)) text += (text.back() == '(' ? "" : ", ") + formula(graph, input);
  return text + ")";
}
inline std::string formula(const FunctionGraph& graph) { return formula(graph, graph.outputs()[0]); }

}  // namespace damo::testing
