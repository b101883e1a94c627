// FunctionGraph as a model of Boost.Graph's VertexListGraph, BidirectionalGraph and AdjacencyGraph. A vertex is a NodeId, an edge runs
// from the node that computes a value to one that reads it, once for each reading. Vertex indices are node numbers:
// use node_limit() for the size of property maps. The one public header that needs Boost.
//
//   std::vector<NodeId> order;
//   boost::topological_sort(graph, std::back_inserter(order));
#pragma once
#include <cstddef>
#include <iterator>
#include <utility>

#include <boost/graph/adjacency_iterator.hpp>
#include <boost/graph/graph_traits.hpp>
#include <boost/graph/properties.hpp>
#include <boost/iterator/iterator_facade.hpp>
#include <boost/property_map/property_map.hpp>

#include <damo/graph.hpp>

namespace damo {

/// One reading: input `position` of `target` is computed by `source`.
struct GraphEdge {
  NodeId source = NodeId::kNone, target = NodeId::kNone;
  int position = 0;
  friend bool operator==(const GraphEdge&, const GraphEdge&) = default;
};

/// The living nodes in order of number.
class VertexIterator
    : public boost::iterator_facade<VertexIterator, NodeId, boost::bidirectional_traversal_tag, NodeId> {
 public:
  VertexIterator() = default;
  VertexIterator(const FunctionGraph& graph, int at) : graph_(&graph), at_(at) { skip(); }

 private:
  friend class boost::iterator_core_access;
  NodeId dereference() const { return static_cast<NodeId>(at_); }
  bool equal(const VertexIterator& other) const { return at_ == other.at_; }
  void increment() { ++at_, skip(); }
  void decrement() {
    do --at_;
    while (!graph_->is_alive(static_cast<NodeId>(at_)));
  }
  void skip() {
    while (at_ < graph_->node_limit() && !graph_->is_alive(static_cast<NodeId>(at_))) ++at_;
  }
  const FunctionGraph* graph_ = nullptr;
  int at_ = 0;
};

/// Readings of a node's outputs, output by output; readings by the graph's own outputs are no edges.
class OutEdgeIterator
    : public boost::iterator_facade<OutEdgeIterator, GraphEdge, boost::forward_traversal_tag, GraphEdge> {
 public:
  OutEdgeIterator() = default;
  OutEdgeIterator(const FunctionGraph& graph, NodeId node, std::size_t output) : graph_(&graph), node_(node), output_(output) { skip(); }

 private:
  friend class boost::iterator_core_access;
  std::span<const Use> uses() const { return graph_->uses(graph_->outputs(node_)[output_]); }
  GraphEdge dereference() const { return {node_, uses()[use_].node, uses()[use_].position}; }
  bool equal(const OutEdgeIterator& other) const { return output_ == other.output_ && use_ == other.use_; }
  void increment() { ++use_, skip(); }
  void skip() {
    for (; output_ < graph_->outputs(node_).size(); ++output_, use_ = 0) {
      while (use_ < uses().size() && uses()[use_].node == NodeId::kNone) ++use_;
      if (use_ < uses().size()) return;
    }
  }
  const FunctionGraph* graph_ = nullptr;
  NodeId node_ = NodeId::kNone;
  std::size_t output_ = 0, use_ = 0;
};

/// A node's inputs that another node computes.
class InEdgeIterator
    : public boost::iterator_facade<InEdgeIterator, GraphEdge, boost::forward_traversal_tag, GraphEdge> {
 public:
  InEdgeIterator() = default;
  InEdgeIterator(const FunctionGraph& graph, NodeId node, std::size_t at) : graph_(&graph), node_(node), at_(at) { skip(); }

 private:
  friend class boost::iterator_core_access;
  NodeId source() const { return graph_->owner(graph_->inputs(node_)[at_]); }
  GraphEdge dereference() const { return {source(), node_, static_cast<int>(at_)}; }
  bool equal(const InEdgeIterator& other) const { return at_ == other.at_; }
  void increment() { ++at_, skip(); }
  void skip() {
    while (at_ < graph_->inputs(node_).size() && source() == NodeId::kNone) ++at_;
  }
  const FunctionGraph* graph_ = nullptr;
  NodeId node_ = NodeId::kNone;
  std::size_t at_ = 0;
};

/// Vertex indices for Boost's property maps.
struct VertexIndexMap {
  using key_type = NodeId;
  using value_type = std::size_t;
  using reference = std::size_t;
  using category = boost::readable_property_map_tag;
};
inline std::size_t get(VertexIndexMap, NodeId node) { return static_cast<std::size_t>(node); }
inline VertexIndexMap get(boost::vertex_index_t, const FunctionGraph&) { return {}; }
inline std::size_t get(boost::vertex_index_t, const FunctionGraph&, NodeId node) { return static_cast<std::size_t>(node); }

inline NodeId source(const GraphEdge& edge, const FunctionGraph&) { return edge.source; }
inline NodeId target(const GraphEdge& edge, const FunctionGraph&) { return edge.target; }
inline std::pair<VertexIterator, VertexIterator> vertices(const FunctionGraph& graph) {
  return {{graph, 0}, {graph, graph.node_limit()}};
}
/// The bound of vertex indices, which Boost's algorithms use to size their colour maps.
inline std::size_t num_vertices(const FunctionGraph& graph) { return static_cast<std::size_t>(graph.node_limit()); }
inline std::pair<OutEdgeIterator, OutEdgeIterator> out_edges(NodeId node, const FunctionGraph& graph) {
  return {{graph, node, 0}, {graph, node, graph.outputs(node).size()}};
}
inline std::pair<InEdgeIterator, InEdgeIterator> in_edges(NodeId node, const FunctionGraph& graph) {
  return {{graph, node, 0}, {graph, node, graph.inputs(node).size()}};
}
/// The readers of a node's outputs, once for each reading.
using AdjacencyIterator = boost::adjacency_iterator_generator<FunctionGraph, NodeId, OutEdgeIterator>::type;
inline std::pair<AdjacencyIterator, AdjacencyIterator> adjacent_vertices(NodeId node, const FunctionGraph& graph) {
  const auto [first, last] = out_edges(node, graph);
  return {{first, &graph}, {last, &graph}};
}
inline std::size_t out_degree(NodeId node, const FunctionGraph& graph) {
  const auto [first, last] = out_edges(node, graph);
  return static_cast<std::size_t>(std::distance(first, last));
}
inline std::size_t in_degree(NodeId node, const FunctionGraph& graph) {
  const auto [first, last] = in_edges(node, graph);
  return static_cast<std::size_t>(std::distance(first, last));
}
inline std::size_t degree(NodeId node, const FunctionGraph& graph) { return in_degree(node, graph) + out_degree(node, graph); }

}  // namespace damo

template <>
struct boost::graph_traits<damo::FunctionGraph> {
  struct traversal_category : bidirectional_graph_tag, adjacency_graph_tag, vertex_list_graph_tag {};
  using vertex_descriptor = damo::NodeId;
  using edge_descriptor = damo::GraphEdge;
  using directed_category = bidirectional_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using vertex_iterator = damo::VertexIterator;
  using out_edge_iterator = damo::OutEdgeIterator;
  using in_edge_iterator = damo::InEdgeIterator;
  using adjacency_iterator = damo::AdjacencyIterator;
  using vertices_size_type = std::size_t;
  using edges_size_type = std::size_t;
  using degree_size_type = std::size_t;
  static vertex_descriptor null_vertex() { return damo::NodeId::kNone; }
};
template <>
struct boost::property_map<damo::FunctionGraph, boost::vertex_index_t> {
  using type = damo::VertexIndexMap;
  using const_type = damo::VertexIndexMap;
};
