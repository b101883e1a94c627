// Looking at fused graphs.
#pragma once
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/transitive_closure.hpp>

#include <damo/boost_graph.hpp>
#include <damo/ops/math.hpp>
#include "ops/rewrites/fusion.hpp"
#include "support/test_ops.hpp"

namespace damo::testing {

/// A graph as it is compiled.
inline FunctionGraph fused(const std::vector<Variable>& inputs, const std::vector<Variable>& outputs, const FusionLimits& limits = {}) {
  FunctionGraph graph = fuse_elementwise(merge_duplicates(FunctionGraph(inputs, outputs)), limits);
  graph.verify();
  return graph;
}

/// The nodes in topological order, a fused one with its members by name: "fused(add mul mul) custom".
inline std::string nodes_text(const FunctionGraph& graph) {
  std::string text;
  for (NodeId node : graph.toposort()) {
    text += (text.empty() ? "" : " ") + graph.op(node).name();
    const FunctionGraph* inner = graph.op(node).inner_graph();
    if (!inner) continue;
    std::multiset<std::string> names;
    for (NodeId member : inner->nodes()) names.insert(inner->op(member).name());
    std::string members;
    for (const std::string& name : names) members += (members.empty() ? "" : " ") + name;
    text += "(" + members + ")";
  }
  return text;
}

/// Which node reaches which, by Boost's transitive closure.
class Reachability {
 public:
  explicit Reachability(const FunctionGraph& graph) : place_(static_cast<std::size_t>(graph.node_limit())) {
    const auto places = boost::make_iterator_property_map(place_.begin(), VertexIndexMap());
    boost::transitive_closure(graph, closure_, boost::orig_to_copy(places).vertex_index_map(VertexIndexMap()));
  }
  bool reaches(NodeId from, NodeId to) const { return boost::edge(at(from), at(to), closure_).second; }

 private:
  using Closure = boost::adjacency_list<boost::hash_setS, boost::vecS, boost::directedS>;
  std::size_t at(NodeId node) const { return place_[static_cast<std::size_t>(node)]; }
  std::vector<std::size_t> place_;
  Closure closure_;
};

/// No path leaves the group and comes back.
inline bool is_convex(const FunctionGraph& graph, const Reachability& paths, const std::vector<NodeId>& group) {
  for (NodeId outside : graph.nodes()) {
    if (std::find(group.begin(), group.end(), outside) != group.end()) continue;
    const auto from_group = [&](NodeId member) { return paths.reaches(member, outside); };
    const auto to_group = [&](NodeId member) { return paths.reaches(outside, member); };
    if (std::any_of(group.begin(), group.end(), from_group) && std::any_of(group.begin(), group.end(), to_group)) return false;
  }
  return true;
}

}  // namespace damo::testing
