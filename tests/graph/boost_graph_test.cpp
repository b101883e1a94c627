// FunctionGraph in the hands of Boost.Graph's own algorithms.
#include <damo/boost_graph.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/graph/reverse_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/graph/topological_sort.hpp>
#include <boost/graph/transitive_closure.hpp>
#include <gmock/gmock.h>

#include "support/test_ops.hpp"

namespace damo {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<FunctionGraph>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<FunctionGraph>));
BOOST_CONCEPT_ASSERT((boost::BidirectionalGraphConcept<FunctionGraph>));
BOOST_CONCEPT_ASSERT((boost::AdjacencyGraphConcept<FunctionGraph>));
BOOST_CONCEPT_ASSERT((boost::ReadablePropertyGraphConcept<FunctionGraph, NodeId, boost::vertex_index_t>));

using damo::testing::OpaqueOp;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

struct Collect : boost::default_bfs_visitor {
  explicit Collect(std::vector<NodeId>& nodes) : nodes(&nodes) {}
  template <class Graph>
  void discover_vertex(NodeId node, const Graph&) const { nodes->push_back(node); }
  std::vector<NodeId>* nodes;
};

/// x -> a -> {b, c} -> d; a is also an output; one node was pruned.
class BoostGraph : public ::testing::Test {
 protected:
  BoostGraph() {
    const auto op = [](const char* name) { return make_op<OpaqueOp>(name); };
    const Variable x = vector("x"), a = op("a")(x), b = op("b")(a), c = op("c")(a, a), d = op("d")(b, c), dead = op("dead")(a);
    const Variable inputs[] = {x}, outputs[] = {d, a, dead};
    graph_ = FunctionGraph(inputs, outputs);
    graph_.replace(graph_.outputs()[2], graph_.outputs()[1]);
    graph_.prune();
  }
  NodeId node(const std::string& name) const {
    for (NodeId id : graph_.nodes()) {
      if (graph_.op(id).name() == name) return id;
    }
    return NodeId::kNone;
  }
  template <class Nodes>
  std::vector<std::string> names(const Nodes& nodes) const {
    std::vector<std::string> all;
    for (NodeId id : nodes) all.push_back(graph_.op(id).name());
    return all;
  }
  FunctionGraph graph_;
};

TEST_F(BoostGraph, VerticesAreTheLivingNodes) {
  const auto [first, last] = vertices(graph_);
  EXPECT_THAT(names(std::vector<NodeId>(first, last)), UnorderedElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(num_vertices(graph_), 5u) << "the bound of indices, the pruned node included";
}

TEST_F(BoostGraph, EdgesAreReadings) {
  EXPECT_EQ(out_degree(node("a"), graph_), 3u) << "b once, c twice; the graph's own output is no edge";
  EXPECT_EQ(in_degree(node("c"), graph_), 2u);
  EXPECT_EQ(in_degree(node("a"), graph_), 0u) << "a reads an input only";
  EXPECT_EQ(degree(node("d"), graph_), 2u);
  for (auto [edge, end] = in_edges(node("d"), graph_); edge != end; ++edge) {
    EXPECT_EQ(target(*edge, graph_), node("d"));
    EXPECT_THAT(graph_.op(source(*edge, graph_)).name(), ::testing::AnyOf("b", "c"));
  }
}

TEST_F(BoostGraph, SortsTopologically) {
  std::vector<NodeId> order;
  boost::topological_sort(graph_, std::back_inserter(order));
  const auto text = names(order);
  ASSERT_EQ(text.size(), 4u);
  EXPECT_EQ(text.front(), "d");
  EXPECT_EQ(text.back(), "a");
}

TEST_F(BoostGraph, SearchesBreadthFirst) {
  std::vector<int> distance(num_vertices(graph_), -1);
  const auto distances = boost::make_iterator_property_map(distance.begin(), VertexIndexMap());
  distances[node("a")] = 0;
  boost::breadth_first_search(graph_, node("a"), boost::visitor(boost::make_bfs_visitor(boost::record_distances(distances, boost::on_tree_edge()))));
  EXPECT_EQ(distances[node("b")], 1);
  EXPECT_EQ(distances[node("c")], 1);
  EXPECT_EQ(distances[node("d")], 2);
}

TEST_F(BoostGraph, SearchesBackwards) {
  std::vector<NodeId> found;
  const auto reversed = boost::make_reverse_graph(graph_);
  std::vector<boost::default_color_type> color(num_vertices(graph_));
  boost::queue<NodeId> queue;
  boost::breadth_first_visit(reversed, node("b"), queue, Collect(found), boost::make_iterator_property_map(color.begin(), VertexIndexMap()));
  EXPECT_THAT(names(found), ElementsAre("b", "a"));
}

TEST_F(BoostGraph, FindsEveryNodeAComponentOfItsOwn) {
  std::vector<std::size_t> component(num_vertices(graph_));
  EXPECT_EQ(boost::strong_components(graph_, boost::make_iterator_property_map(component.begin(), VertexIndexMap())), 4u);
}

TEST_F(BoostGraph, GivesReachability) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> closure;
  std::vector<std::size_t> place(num_vertices(graph_));
  const auto to_closure = boost::make_iterator_property_map(place.begin(), VertexIndexMap());
  boost::transitive_closure(graph_, closure, boost::orig_to_copy(to_closure).vertex_index_map(VertexIndexMap()));
  const auto reaches = [&](const char* from, const char* to) { return boost::edge(to_closure[node(from)], to_closure[node(to)], closure).second; };
  EXPECT_TRUE(reaches("a", "d"));
  EXPECT_TRUE(reaches("c", "d"));
  EXPECT_FALSE(reaches("b", "c"));
  EXPECT_FALSE(reaches("d", "a"));
}

}  // namespace
}  // namespace damo
