// A rewrite of one's own, with Boost.Graph on Damo's graph. The pass turns exp(log(x)) into x. It runs after duplicates
// were merged and before fusion; the user's own Variables are never changed.
#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/graph/topological_sort.hpp>
#include <damo/boost_graph.hpp>
#include <damo/damo.hpp>
#include <iostream>
using namespace damo;

FunctionGraph drop_exp_of_log(FunctionGraph graph) {
  std::vector<NodeId> users_first;
  boost::topological_sort(graph, std::back_inserter(users_first));
  for (NodeId node : users_first) {
    if (graph.op(node).name() != "exp") continue;
    const NodeId inner = graph.owner(graph.inputs(node)[0]);
    if (inner == NodeId::kNone || graph.op(inner).name() != "log") continue;
    graph.replace(graph.outputs(node)[0], graph.inputs(inner)[0]);
  }
  graph.prune();  // what no output needs any more
  return graph;
}

/// How many readings lie between a node and the farthest node that depends on it: any algorithm of Boost's will do.
int depth_below(const FunctionGraph& graph, NodeId node) {
  std::vector<int> distances(num_vertices(graph), 0);
  const auto map = boost::make_iterator_property_map(distances.begin(), get(boost::vertex_index, graph));
  boost::breadth_first_search(
      graph, node, boost::visitor(boost::make_bfs_visitor(boost::record_distances(map, boost::on_tree_edge()))));
  return *std::max_element(distances.begin(), distances.end());
}

int main() {
  const Variable x = vector("x");
  const Variable y = exp(log(x * 2.0)) + 1.0;
  const Function plain = function({x}, {y}, {.fuse = false});
  const Function rewritten = function({x}, {y}, {.fuse = false, .passes = {{"drop_exp_of_log", drop_exp_of_log}}});

  std::cout << debugprint(plain.graph()) << "\n" << debugprint(rewritten.graph()) << "\n";
  for (const PassReport& report : rewritten.build_report().passes) {
    std::cout << report.name << ": " << report.nodes_before << " nodes -> " << report.nodes_after << "\n";
  }
  const std::vector<float> values = {0.5f, 3, 8}, expected = {2, 7, 17};
  const bool right = plain.graph().node_count() == 4 && rewritten.graph().node_count() == 2 &&
                     depth_below(plain.graph(), plain.graph().toposort().front()) == 3 &&
                     rewritten(Array::from(values))[0].to_vector<float>() == expected;
  std::cout << (right ? "right\n" : "WRONG\n");
  return right ? 0 : 1;
}
