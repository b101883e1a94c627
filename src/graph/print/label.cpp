#include "graph/print/label.hpp"

#include <algorithm>
#include <unordered_set>

#include "graph/apply_data.hpp"
#include "graph/base/characters.hpp"

namespace damo {

std::string op_label(const Op& op) {
  if (const FunctionGraph* inner = op.inner_graph()) {
    return op.name() + "{" + std::to_string(inner->node_count()) + (inner->node_count() == 1 ? " op}" : " ops}");
  }
  const std::string props = to_string(op.props());
  return op.name() + (props.empty() ? "" : "{" + props + "}");
}

std::string aliasing_label(const FunctionGraph& graph, NodeId node) {
  const Op& op = graph.op(node);
  if (op.view_of(0) >= 0) return "view of input " + std::to_string(op.view_of(0));
  if (op.passes_through(0) >= 0) return "input " + std::to_string(op.passes_through(0)) + " where contiguous";
  std::vector<int> inputs;
  for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) {
    const int input = op.overwrites(static_cast<int>(i));
    if (input >= 0) inputs.push_back(input);
  }
  std::string text;
  for (int input : inputs) text += (text.empty() ? inputs.size() == 1 ? "overwrites input " : "overwrites inputs " : ", ") + std::to_string(input);
  return text;
}

std::string leaf_label(const FunctionGraph& graph, ValueId value) {
  if (!graph.name(value).empty()) return graph.name(value);
  if (graph.is_literal(value)) return to_string(graph.number(value));
  if (graph.constant(value)) return "constant";
  if (graph.shared(value)) return "shared variable";
  const auto inputs = graph.inputs();
  const auto place = std::find(inputs.begin(), inputs.end(), value);
  return place == inputs.end() ? "input" : "input " + std::to_string(place - inputs.begin());
}

std::string update_label(const FunctionGraph& graph, std::size_t output) {
  const auto results = static_cast<std::size_t>(graph.result_count());
  return output < results ? "" : "new " + leaf_label(graph, graph.updated()[output - results]);
}

std::string letters(std::size_t number) {
  std::string text;
  for (++number; number > 0; number = (number - 1) / 26) text += static_cast<char>('A' + (number - 1) % 26);
  std::reverse(text.begin(), text.end());
  return text;
}

std::string shortened(std::string text, std::size_t limit) {
  if (text.size() <= limit) return text;
  std::size_t end = limit - std::min<std::size_t>(limit, 1);
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

std::size_t count_characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(at));
    if (bytes != 1) {
      escaped += bytes == 0 ? kNoCharacter : text.substr(at, bytes);
      at += std::max<std::size_t>(bytes, 1);
      continue;
    }
    const char c = text[at++];
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
      case '\r':
        escaped += ' ';
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) escaped += kNoCharacter;
        else escaped += c;
    }
  }
  return escaped;
}

std::string quote_dot(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text.substr(at));
    if (bytes != 1) {
      quoted += bytes == 0 ? kNoCharacter : text.substr(at, bytes);
      at += std::max<std::size_t>(bytes, 1);
      continue;
    }
    const char c = text[at++];
    if (c == '"' || c == '\\') quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return quoted + "\"";
}

FunctionGraph snapshot(std::span<const Variable> outputs) {
  std::vector<Variable> inputs;
  std::unordered_set<ApplyData*> seen;
  std::vector<ApplyData*> stack;
  const auto visit = [&](const Variable& variable) {
    ApplyData* const data = ApplyData::of(variable);
    if (!data || !seen.insert(data).second) return;
    if (variable.is_input())
      inputs.push_back(variable);
    else
      stack.push_back(data);
  };
  for (const Variable& output : outputs) {
    visit(output);
    while (!stack.empty()) {
      ApplyData* const data = stack.back();
      stack.pop_back();
      for (const Variable& input : data->inputs) visit(input);
    }
  }
  return {inputs, outputs};
}

}  // namespace damo
