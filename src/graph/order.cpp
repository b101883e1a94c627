// Topological order; its report of cycles is by Boost.Graph on FunctionGraph itself.
#include <algorithm>

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/strong_components.hpp>

#include <damo/boost_graph.hpp>
#include "graph/order.hpp"

namespace damo {
namespace {

/// The names of the nodes of one cycle, for the error.
std::string cycle_text(const FunctionGraph& graph) {
  std::vector<std::size_t> component(static_cast<std::size_t>(graph.node_limit()), 0);
  const auto of = boost::make_iterator_property_map(component.begin(), VertexIndexMap());
  boost::strong_components(graph, of);
  std::vector<int> members(component.size() + 1, 0);
  for (NodeId node : graph.nodes()) ++members[component[static_cast<std::size_t>(node)]];
  std::string text;
  int listed = 0;
  for (NodeId node : graph.nodes()) {
    const auto [edge, end] = out_edges(node, graph);
    const bool loops = std::any_of(edge, end, [&](const GraphEdge& e) { return e.target == node; });
    if (members[component[static_cast<std::size_t>(node)]] < 2 && !loops) continue;
    if (++listed > 8) return text + ", ...";
    text += (text.empty() ? "" : ", ") + graph.describe(node);
  }
  return text;
}

}  // namespace

bool is_numbered_in_order(const FunctionGraph& graph) {
  for (int i = 0; i < graph.node_limit(); ++i) {
    const auto node = static_cast<NodeId>(i);
    if (!graph.is_alive(node)) continue;
    for (ValueId input : graph.inputs(node)) {
      if (graph.owner(input) >= node) return false;
    }
  }
  return true;
}

std::vector<NodeId> some_order(const FunctionGraph& graph) { return is_numbered_in_order(graph) ? graph.nodes() : graph.toposort(); }

/// Depth first from each node to the readers of its outputs; a node comes before all that it leads to. What Boost's topological_sort gives, at a
/// third of its time: a walk over a million nodes waits for memory, and its edges carry more than their targets.
std::vector<NodeId> FunctionGraph::toposort() const {
  struct Visit {
    NodeId node;
    std::uint32_t output = 0, use = 0;
  };
  enum class State : std::uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(nodes_.size(), State::kNew);
  std::vector<NodeId> order(static_cast<std::size_t>(alive_));
  std::vector<Visit> stack;
  const auto enter = [&](NodeId node) {
    State& state = states[static_cast<std::size_t>(node)];
    if (state == State::kOpen) throw GraphError("the graph has a cycle through " + cycle_text(*this), "a rewrite made a value depend on itself");
    if (state == State::kNew) state = State::kOpen, stack.push_back({node});
  };
  auto last = order.end();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (!nodes_[i].alive || states[i] == State::kDone) continue;
    enter(static_cast<NodeId>(i));
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto made = outputs(top.node);
      while (top.output < made.size() && top.use == uses(made[top.output]).size()) ++top.output, top.use = 0;
      if (top.output < made.size()) {
        const NodeId reader = uses(made[top.output])[top.use++].node;
        if (reader != NodeId::kNone) enter(reader);
        continue;
      }
      states[static_cast<std::size_t>(top.node)] = State::kDone;
      *--last = top.node;
      stack.pop_back();
    }
  }
  return order;
}

std::vector<Apply> needed_nodes(std::span<const Variable> outputs, const std::unordered_set<std::size_t>& ends) {
  struct Visit {
    Apply node;
    std::size_t next = 0;
  };
  std::vector<Apply> order;
  std::unordered_set<std::size_t> seen;
  std::vector<Visit> stack;
  const auto enter = [&](const Variable& variable) {
    if (!variable.has_owner() || ends.contains(variable.id())) return;
    Apply node = variable.owner();
    if (seen.insert(node.output(0).id()).second) stack.push_back({std::move(node)});
  };
  for (const Variable& output : outputs) {
    enter(output);
    while (!stack.empty()) {
      if (stack.back().next < stack.back().node.inputs().size()) {
        const Variable input = stack.back().node.inputs()[stack.back().next++];
        enter(input);
        continue;
      }
      order.push_back(std::move(stack.back().node));
      stack.pop_back();
    }
  }
  return order;
}

}  // namespace damo
