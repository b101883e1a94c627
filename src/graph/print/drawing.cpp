#include "graph/print/drawing.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "graph/print/label.hpp"

namespace damo {
namespace {

constexpr double kBoxHeight = 24, kPortSize = 7;
constexpr int kLeastInside = 4;  // a fused op is drawn with its inside only if so many nodes of it may be shown
constexpr std::size_t kTextLimit = 44;

int inner_count(const FunctionGraph& graph, NodeId node) {
  const FunctionGraph* inner = graph.op(node).inner_graph();
  return inner ? inner->node_count() : 1;
}

class DrawingBuilder {
 public:
  DrawingBuilder(const FunctionGraph& graph, int limit, bool is_inner);
  Drawing take() { return std::move(drawing_); }

 private:
  struct Source {
    int item = -1;
    double offset = 0;
  };
  void choose(int limit);
  int add_item(ItemKind kind, std::vector<DrawingText> text, std::string tooltip, double width, double height);
  int add_leaf(ItemKind kind, const std::string& text, std::string tooltip);
  void add_inputs();
  void add_hidden();
  void add_node(NodeId node);
  void add_group(NodeId node, const FunctionGraph& inner);
  void add_op(NodeId node);
  void add_outputs();
  void connect(ValueId value, int item, double offset);
  void label(ValueId value, Source source);
  Source source(ValueId value);
  std::string node_tooltip(NodeId node) const;
  double label_width(ValueId value) const {
    return static_cast<double>(to_string(graph_.type(value)).size()) * kSmallCharacterWidth;
  }

  const FunctionGraph& graph_;
  const bool is_inner_;
  Drawing drawing_;
  std::vector<NodeId> first_, last_;  // nodes to draw, before and after the hidden ones
  std::vector<bool> hidden_;
  int hidden_count_ = 0, hidden_item_ = -1, inside_limit_ = 0;
  std::unordered_map<ValueId, Source> sources_;
  std::set<std::pair<int, int>> hidden_edges_;
  std::string usual_type_;  // of an inner graph: not repeated on its edges
};

DrawingBuilder::DrawingBuilder(const FunctionGraph& graph, int limit, bool is_inner)
    : graph_(graph), is_inner_(is_inner) {
  choose(limit);
  if (is_inner_) {
    std::map<std::string, int> count;
    for (NodeId node : graph.nodes()) ++count[to_string(graph.type(graph.outputs(node)[0]))];
    for (const auto& [type, times] : count) {
      if (usual_type_.empty() || times > count[usual_type_]) usual_type_ = type;
    }
  }
  add_inputs();
  for (NodeId node : first_) add_node(node);
  if (hidden_count_ > 0) add_hidden();
  for (NodeId node : last_) add_node(node);
  add_outputs();
  set_layers(drawing_, is_inner_ ? graph.outputs().size() : 0);
  drawing_.size = lay_out(drawing_.boxes, drawing_.edges, is_inner_ ? 22 : 40);
  if (!is_inner_) return;
  const std::size_t inputs = graph.inputs().size(), first_output = drawing_.boxes.size() - graph.outputs().size();
  for (std::size_t i = 0; i < inputs; ++i) drawing_.input_ports.push_back(drawing_.boxes[i].x);
  for (std::size_t i = first_output; i < drawing_.boxes.size(); ++i)
    drawing_.output_ports.push_back(drawing_.boxes[i].x);
}

/// Which nodes are drawn, and how many of each fused op's.
void DrawingBuilder::choose(int limit) {
  const std::vector<NodeId> order = graph_.toposort();
  int total = 0;
  for (NodeId node : order) total += inner_count(graph_, node);
  const auto size = static_cast<int>(order.size());
  drawing_.all_nodes = total;
  inside_limit_ = total <= limit ? total : limit / std::max(size, 1);
  const int head = size <= limit ? size : limit / 2, tail = size <= limit ? 0 : limit - limit / 2;
  first_.assign(order.begin(), order.begin() + head);
  last_.assign(order.end() - tail, order.end());
  hidden_count_ = size - head - tail;
  hidden_.assign(static_cast<std::size_t>(graph_.node_limit()), false);
  for (int i = head; i < size - tail; ++i) hidden_[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = true;
}

int DrawingBuilder::add_item(ItemKind kind, std::vector<DrawingText> text, std::string tooltip, double width,
                             double height) {
  drawing_.items.push_back({kind, std::move(text), std::move(tooltip), nullptr});
  drawing_.boxes.push_back({width, height});
  return static_cast<int>(drawing_.items.size()) - 1;
}

int DrawingBuilder::add_leaf(ItemKind kind, const std::string& text, std::string tooltip) {
  const std::string shown = shortened(text, kTextLimit);
  return add_item(kind, {{shown}}, std::move(tooltip),
                  static_cast<double>(count_characters(shown)) * kCharacterWidth + 22, kBoxHeight);
}

/// Inputs that a drawn node reads; all of an inner graph's, as ports.
void DrawingBuilder::add_inputs() {
  for (ValueId value : graph_.inputs()) {
    const auto is_drawn = [&](const Use& use) {
      return use.node == NodeId::kNone || !hidden_[static_cast<std::size_t>(use.node)];
    };
    const std::string tooltip = leaf_label(graph_, value) + ": input, " + to_string(graph_.type(value));
    const auto uses = graph_.uses(value);
    if (is_inner_) {
      sources_[value] = {add_item(ItemKind::kPort, {}, tooltip, kPortSize, kPortSize), 0};
    } else if (std::any_of(uses.begin(), uses.end(), is_drawn) || hidden_count_ == 0) {
      const int item = add_leaf(ItemKind::kInput, leaf_label(graph_, value), tooltip);
      drawing_.boxes.back().width = std::max(drawing_.boxes.back().width, label_width(value));
      sources_[value] = {item, 0};
      label(value, {item, 0});
    }
  }
}

void DrawingBuilder::add_hidden() {
  const std::string text =
      "… " + std::to_string(hidden_count_) + (hidden_count_ == 1 ? " node" : " nodes") + " not drawn …";
  hidden_item_ = add_leaf(ItemKind::kHidden, text, "nodes between the first and the last in topological order");
  const auto is_hidden = [&](const Use& use) {
    return use.node != NodeId::kNone && hidden_[static_cast<std::size_t>(use.node)];
  };
  for (NodeId node : first_) {
    for (ValueId value : graph_.outputs(node)) {
      if (std::any_of(graph_.uses(value).begin(), graph_.uses(value).end(), is_hidden)) connect(value, hidden_item_, 0);
    }
  }
}

DrawingBuilder::Source DrawingBuilder::source(ValueId value) {
  if (const auto found = sources_.find(value); found != sources_.end()) return found->second;
  if (graph_.owner(value) != NodeId::kNone) return {hidden_item_, 0};
  const bool is_shared = graph_.shared(value) != nullptr;
  if (!is_shared && !graph_.constant(value)) return {};
  const std::string tooltip = leaf_label(graph_, value) + (is_shared ? ": shared variable, " : ": constant, ") + to_string(graph_.type(value));
  const int item = add_leaf(is_shared ? ItemKind::kInput : ItemKind::kConstant, leaf_label(graph_, value), tooltip);
  drawing_.boxes.back().width = std::max(drawing_.boxes.back().width, label_width(value));
  label(value, {item, 0});
  return sources_[value] = {item, 0};
}

void DrawingBuilder::connect(ValueId value, int item, double offset) {
  const Source from = source(value);
  if (from.item < 0 || from.item == item) return;
  const bool touches_hidden = from.item == hidden_item_ || item == hidden_item_;
  if (touches_hidden && !hidden_edges_.insert({from.item, item}).second) return;
  drawing_.edges.push_back({from.item, item, from.offset, offset});
}

void DrawingBuilder::label(ValueId value, Source source) {
  std::string text = to_string(graph_.type(value));
  if (is_inner_ && text == usual_type_) return;
  drawing_.labels.push_back({source.item, source.offset, std::move(text)});
}

std::string DrawingBuilder::node_tooltip(NodeId node) const {
  std::string text = op_label(graph_.op(node)) + "\n";
  for (ValueId input : graph_.inputs(node)) text += "reads " + to_string(graph_.type(input)) + "\n";
  for (ValueId output : graph_.outputs(node)) {
    text += "gives " + to_string(graph_.type(output)) +
            (graph_.name(output).empty() ? "" : " '" + graph_.name(output) + "'") + "\n";
  }
  if (const std::string aliasing = aliasing_label(graph_, node); !aliasing.empty()) text += aliasing + "\n";
  if (graph_.where(node)) text += "built at " + to_string(graph_.where(node)) + "\n";
  text.pop_back();
  return text;
}

void DrawingBuilder::add_node(NodeId node) {
  const FunctionGraph* inner = graph_.op(node).inner_graph();
  if (inner && (inside_limit_ >= kLeastInside || inner->node_count() <= inside_limit_))
    add_group(node, *inner);
  else
    add_op(node);
}

void DrawingBuilder::add_group(NodeId node, const FunctionGraph& inner) {
  auto inside = std::make_unique<Drawing>(DrawingBuilder(inner, inside_limit_, true).take());
  const std::string title = op_label(graph_.op(node));
  double width = std::max(inside->size.width, static_cast<double>(title.size()) * kCharacterWidth + 8);
  const double room = width - inside->size.width;
  for (std::vector<double>* ports : {&inside->input_ports, &inside->output_ports}) {
    for (double& x : *ports) x += room / 2;
  }
  const double left = room / 2;
  for (LayoutBox& box : inside->boxes) box.x += left;
  for (LayoutEdge& edge : inside->edges) {
    for (LayoutPoint& point : edge.path) point.x += left;
  }
  const double height = inside->size.height + 2 * kGroupPadding + kGroupTitle;
  width += 2 * kGroupPadding;
  const int item = add_item(ItemKind::kGroup, {{title}}, node_tooltip(node), width, height);
  const auto inputs = graph_.inputs(node);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool has_port = i < inside->input_ports.size();  // positions at which the group takes others of its inputs have none
    connect(inputs[i], item, has_port ? inside->input_ports[i] + kGroupPadding - width / 2 : width / 2 - kGroupPadding);
  }
  for (std::size_t i = 0; i < graph_.outputs(node).size(); ++i) {
    const Source from{item, inside->output_ports[i] + kGroupPadding - width / 2};
    sources_[graph_.outputs(node)[i]] = from;
    label(graph_.outputs(node)[i], from);
  }
  drawing_.drawn_nodes += inside->drawn_nodes;
  drawing_.items[static_cast<std::size_t>(item)].inside = std::move(inside);
}

void DrawingBuilder::add_op(NodeId node) {
  const ItemKind kind =
      graph_.op(node).inner_graph() ? ItemKind::kGroup : ItemKind::kOp;  // not opened: too much to show
  const auto inputs = graph_.inputs(node), outputs = graph_.outputs(node);
  std::vector<DrawingText> text = {{shortened(op_label(graph_.op(node)), kTextLimit)}};
  std::vector<ValueId> arrays;
  for (ValueId input : inputs) {
    if (!graph_.is_literal(input)) arrays.push_back(input);
  }
  if (arrays.size() < inputs.size()) {
    text.push_back({"("});
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (i > 0) text.push_back({", "});
      const bool literal = graph_.is_literal(inputs[i]);
      text.push_back({literal ? shortened(leaf_label(graph_, inputs[i]), 16) : "·", literal});
    }
    text.push_back({")"});
  }
  double width = 18, labels = 0;
  for (const DrawingText& piece : text) width += static_cast<double>(count_characters(piece.text)) * kCharacterWidth;
  for (ValueId output : outputs) labels = std::max(labels, label_width(output) + 8);
  const double step = is_inner_ ? 12 : labels;
  if (!is_inner_ || outputs.size() > 1) width = std::max(width, step * static_cast<double>(outputs.size()));
  const int item = add_item(kind, std::move(text), node_tooltip(node), width, kBoxHeight);
  const double spread = std::min(16.0, (width - 10) / static_cast<double>(std::max<std::size_t>(arrays.size(), 1)));
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    connect(arrays[i], item, (static_cast<double>(i) - (static_cast<double>(arrays.size()) - 1) / 2) * spread);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Source from{item, (static_cast<double>(i) - (static_cast<double>(outputs.size()) - 1) / 2) * step};
    sources_[outputs[i]] = from;
    label(outputs[i], from);
  }
  ++drawing_.drawn_nodes;
}

void DrawingBuilder::add_outputs() {
  for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
    const ValueId value = graph_.outputs()[i];
    const NodeId owner = graph_.owner(value);
    std::string name = update_label(graph_, i);
    if (name.empty()) name = graph_.name(value).empty() || owner == NodeId::kNone ? "output " + std::to_string(i) : graph_.name(value);
    const std::string tooltip = name + ": output " + std::to_string(i) + ", " + to_string(graph_.type(value));
    if (is_inner_) {  // as wide as its label outside, so that those have room
      connect(value, add_item(ItemKind::kPort, {}, tooltip, label_width(value) + 6, kPortSize), 0);
    } else if (owner == NodeId::kNone || !hidden_[static_cast<std::size_t>(owner)]) {
      connect(value, add_leaf(ItemKind::kOutput, name, tooltip), 0);
    }
  }
}

}  // namespace

Drawing draw(const FunctionGraph& graph, int node_limit) {
  return DrawingBuilder(graph, std::max(node_limit, 2), false).take();
}

}  // namespace damo
