// Topological order and cycles, by Boost.Graph on FunctionGraph itself.
#include <algorithm>

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>

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

std::vector<NodeId> FunctionGraph::toposort() const {
  std::vector<NodeId> order;
  order.reserve(static_cast<std::size_t>(alive_));
  try {
    boost::topological_sort(*this, std::back_inserter(order));
  } catch (const boost::not_a_dag&) {
    throw GraphError("the graph has a cycle through " + cycle_text(*this), "a rewrite made a value depend on itself");
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace damo
