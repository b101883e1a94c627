// debugprint: a depth-first walk from the outputs with a stack of its own.
#include <vector>

#include <damo/print.hpp>
#include "graph/print/label.hpp"

namespace damo {
namespace {

/// Prints one graph, or the graph and then those inside it: ids go on from one to the next.
class TreePrinter {
 public:
  explicit TreePrinter(const PrintOptions& options) : options_(options) {}

  void print(const FunctionGraph& graph);
  std::string take() { return std::move(text_); }

 private:
  struct Visit {
    NodeId node;
    std::size_t next;    // input
    std::size_t prefix;  // length of the prefix for its inputs
  };
  struct Inner {
    const FunctionGraph* graph;
    std::string title;
  };
  void print_tree(const FunctionGraph& graph, ValueId output, const std::string& title);
  /// One line; true if the node's inputs are to follow.
  bool print_line(const FunctionGraph& graph, ValueId value, const std::string& prefix, const char* branch,
                  std::size_t depth);
  std::string label(const FunctionGraph& graph, ValueId value);
  std::string tail(const FunctionGraph& graph, ValueId value) const;
  const std::string& id_of(const FunctionGraph& graph, ValueId value);
  void close(const FunctionGraph& graph);

  const PrintOptions& options_;
  std::string text_;
  std::size_t lines_ = 0, next_id_ = 0;
  std::vector<std::string> node_ids_, leaf_ids_;  // of the graph at work
  std::vector<bool> expanded_;
  std::vector<Inner> inner_;
};

const std::string& TreePrinter::id_of(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  std::string& id =
      owner == NodeId::kNone ? leaf_ids_[static_cast<std::size_t>(value)] : node_ids_[static_cast<std::size_t>(owner)];
  if (id.empty()) {
    id = letters(next_id_++);
    const FunctionGraph* inner = owner == NodeId::kNone ? nullptr : graph.op(owner).inner_graph();
    if (inner) inner_.push_back({inner, op_label(graph.op(owner)) + " [id " + id + "]"});
  }
  return id;
}

std::string TreePrinter::label(const FunctionGraph& graph, ValueId value) {
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone) return leaf_label(graph, value) + " [id " + id_of(graph, value) + "]";
  std::string text = op_label(graph.op(owner));
  if (graph.outputs(owner).size() > 1) text += "." + std::to_string(graph.owner_index(value));
  return text + " [id " + id_of(graph, value) + "]";
}

/// Type, name, source line.
std::string TreePrinter::tail(const FunctionGraph& graph, ValueId value) const {
  std::string text = " " + to_string(graph.type(value));
  const NodeId owner = graph.owner(value);
  if (owner == NodeId::kNone) return graph.shared(value) ? text + " shared" : text;
  if (!graph.name(value).empty()) text += " '" + graph.name(value) + "'";
  const std::string aliasing = aliasing_label(graph, owner);
  if (!aliasing.empty()) text += " " + aliasing;
  if (options_.source_lines && graph.where(owner)) text += " (" + to_string(graph.where(owner)) + ")";
  return text;
}

bool TreePrinter::print_line(const FunctionGraph& graph, ValueId value, const std::string& prefix, const char* branch,
                             std::size_t depth) {
  const NodeId owner = graph.owner(value);
  text_ += prefix + branch + label(graph, value) + tail(graph, value);
  ++lines_;
  const bool has_inputs = owner != NodeId::kNone && !graph.inputs(owner).empty();
  const bool expanded = has_inputs && expanded_[static_cast<std::size_t>(owner)];
  const bool too_deep = has_inputs && !expanded && depth >= static_cast<std::size_t>(options_.depth);
  text_ += expanded ? " ···\n" : too_deep ? " ...\n" : "\n";
  return has_inputs && !expanded && !too_deep;
}

void TreePrinter::print_tree(const FunctionGraph& graph, ValueId output, const std::string& title) {
  std::string prefix;
  std::vector<Visit> stack;
  const auto show = [&](ValueId value, const char* branch, const char* below) {
    if (!print_line(graph, value, prefix, branch, stack.size())) return;
    const std::size_t length = prefix.size();
    expanded_[static_cast<std::size_t>(graph.owner(value))] = true;
    stack.push_back({graph.owner(value), 0, length});
    prefix += below;
  };
  show(output, title.c_str(), "");
  while (!stack.empty() && lines_ < options_.lines) {
    const Visit top = stack.back();
    const auto inputs = graph.inputs(top.node);
    if (top.next == inputs.size()) {
      prefix.resize(top.prefix);
      stack.pop_back();
      continue;
    }
    ++stack.back().next;
    const bool last = top.next + 1 == inputs.size();
    show(inputs[top.next], last ? " └─ " : " ├─ ", last ? "   " : " │ ");
  }
}

/// Says how many nodes have no line.
void TreePrinter::close(const FunctionGraph& graph) {
  int shown = 0;
  for (const std::string& id : node_ids_) shown += id.empty() ? 0 : 1;
  const int more = graph.node_count() - shown;
  if (more > 0) text_ += "... " + std::to_string(more) + (more == 1 ? " more node\n" : " more nodes\n");
}

void TreePrinter::print(const FunctionGraph& graph) {
  node_ids_.assign(static_cast<std::size_t>(graph.node_limit()), {});
  leaf_ids_.assign(static_cast<std::size_t>(graph.value_limit()), {});
  expanded_.assign(node_ids_.size(), false);
  for (std::size_t i = 0; i < graph.outputs().size() && lines_ < options_.lines; ++i) {
    const std::string update = update_label(graph, i);
    print_tree(graph, graph.outputs()[i], update.empty() ? "" : update + " = ");
  }
  close(graph);
  const std::vector<Inner> inner = std::move(inner_);
  inner_.clear();
  if (inner.empty() || !options_.inner_graphs) return;
  text_ += "\nInner graphs:\n";
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (lines_ >= options_.lines) {
      text_ += "\n... " + std::to_string(inner.size() - i) + " more inner graphs\n";
      return;
    }
    text_ += "\n" + inner[i].title + "\n";
    print(*inner[i].graph);
  }
}

}  // namespace

std::string debugprint(const FunctionGraph& graph, const PrintOptions& options) {
  TreePrinter printer(options);
  printer.print(graph);
  return printer.take();
}

std::string debugprint(std::span<const Variable> outputs, const PrintOptions& options) {
  return debugprint(snapshot(outputs), options);
}

}  // namespace damo
