// to_dot: the graph with inputs, constants, outputs and the insides of fused ops as vertices of a Boost graph, which
// write_graphviz writes. Clusters go in through its graph property writer.
#include <sstream>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>

#include <damo/print.hpp>
#include "graph/print/label.hpp"

namespace damo {
namespace {

struct Vertex {
  std::string label, tooltip, style;
};
struct Edge {
  std::string label;
};
using Picture = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS, Vertex, Edge>;

constexpr const char* kInputStyle = "shape=ellipse, fillcolor=\"#cfe3f7\"";
constexpr const char* kConstantStyle = "shape=ellipse, fillcolor=\"#f6e3b4\"";
constexpr const char* kOpStyle = "shape=box, fillcolor=\"#ffffff\"";
constexpr const char* kOutputStyle = "shape=ellipse, fillcolor=\"#cdeccf\"";

class DotBuilder {
 public:
  struct Cluster {
    std::string label;
    std::vector<std::size_t> vertices;
  };
  explicit DotBuilder(const FunctionGraph& graph);
  Picture picture;
  std::vector<Cluster> clusters;

 private:
  using Sources = std::unordered_map<ValueId, std::size_t>;  // the vertex that a value comes from
  std::size_t add_vertex(std::string label, std::string tooltip, const char* style) {
    return boost::add_vertex(Vertex{std::move(label), std::move(tooltip), style}, picture);
  }
  void add_node(const FunctionGraph& graph, NodeId node, Sources& sources);
  void add_group(const FunctionGraph& graph, NodeId node, const FunctionGraph& inner, Sources& sources);
  /// The vertex of an input or constant is made when it is first read.
  std::size_t source(const FunctionGraph& graph, ValueId value, Sources& sources);
};

std::size_t DotBuilder::source(const FunctionGraph& graph, ValueId value, Sources& sources) {
  const auto found = sources.find(value);
  if (found != sources.end()) return found->second;
  const char* style = graph.constant(value) ? kConstantStyle : kInputStyle;
  return sources[value] = add_vertex(leaf_label(graph, value), to_string(graph.type(value)), style);
}

void DotBuilder::add_node(const FunctionGraph& graph, NodeId node, Sources& sources) {
  const std::string aliasing = aliasing_label(graph, node);
  const std::size_t vertex = add_vertex(op_label(graph.op(node)) + (aliasing.empty() ? "" : "\n" + aliasing),
                                        graph.describe(node), kOpStyle);
  for (ValueId input : graph.inputs(node)) {
    std::string label = to_string(graph.type(input));
    if (graph.owner(input) != NodeId::kNone && graph.outputs(graph.owner(input)).size() > 1) {
      label += " ." + std::to_string(graph.owner_index(input));
    }
    boost::add_edge(source(graph, input, sources), vertex, Edge{std::move(label)}, picture);
  }
  for (ValueId output : graph.outputs(node)) sources[output] = vertex;
}

void DotBuilder::add_group(const FunctionGraph& graph, NodeId node, const FunctionGraph& inner, Sources& sources) {
  Sources inside;
  for (std::size_t i = 0; i < inner.inputs().size(); ++i)
    inside[inner.inputs()[i]] = source(graph, graph.inputs(node)[i], sources);
  const std::size_t first = boost::num_vertices(picture);
  for (NodeId member : inner.toposort()) add_node(inner, member, inside);
  for (std::size_t i = inner.inputs().size(); i < graph.inputs(node).size() && first < boost::num_vertices(picture); ++i) {  // positions, at which the group takes others of its inputs
    boost::add_edge(source(graph, graph.inputs(node)[i], sources), first, Edge{to_string(graph.type(graph.inputs(node)[i]))}, picture);
  }
  Cluster cluster{op_label(graph.op(node)), {}};
  for (std::size_t vertex = first; vertex < boost::num_vertices(picture); ++vertex) cluster.vertices.push_back(vertex);
  clusters.push_back(std::move(cluster));
  for (std::size_t i = 0; i < inner.outputs().size(); ++i)
    sources[graph.outputs(node)[i]] = source(inner, inner.outputs()[i], inside);
}

DotBuilder::DotBuilder(const FunctionGraph& graph) {
  Sources sources;
  for (ValueId input : graph.inputs()) source(graph, input, sources);
  for (NodeId node : graph.toposort()) {
    const FunctionGraph* inner = graph.op(node).inner_graph();
    if (inner)
      add_group(graph, node, *inner, sources);
    else
      add_node(graph, node, sources);
  }
  for (std::size_t i = 0; i < graph.outputs().size(); ++i) {
    const ValueId value = graph.outputs()[i];
    std::string label = update_label(graph, i);
    if (label.empty()) label = graph.name(value).empty() ? "output " + std::to_string(i) : graph.name(value);
    const std::size_t vertex = add_vertex(label, to_string(graph.type(value)), kOutputStyle);
    boost::add_edge(source(graph, value, sources), vertex, Edge{to_string(graph.type(value))}, picture);
  }
}

void write_clusters(std::ostream& out, const std::vector<DotBuilder::Cluster>& clusters) {
  out << "node [style=filled, fontname=\"Helvetica\", fontsize=11];\nedge [fontname=\"Helvetica\", fontsize=8];\n";
  for (std::size_t i = 0; i < clusters.size(); ++i) {
    out << "subgraph cluster_" << i << " {\nlabel=" << quote_dot(clusters[i].label) << ";\nfontname=\"Helvetica\";\n";
    out << "fontsize=10;\nstyle=\"rounded,filled\";\nfillcolor=\"#eeeeee\";\n";
    for (std::size_t vertex : clusters[i].vertices) out << vertex << ";\n";
    out << "}\n";
  }
}

}  // namespace

std::string to_dot(const FunctionGraph& graph) {
  const DotBuilder dot(graph);
  const auto write_vertex = [&](std::ostream& out, std::size_t vertex) {
    const Vertex& record = dot.picture[vertex];
    out << "[label=" << quote_dot(record.label) << ", tooltip=" << quote_dot(record.tooltip) << ", " << record.style
        << "]";
  };
  const auto write_edge = [&](std::ostream& out, const auto& edge) {
    out << "[label=" << quote_dot(dot.picture[edge].label) << "]";
  };
  std::ostringstream out;
  boost::write_graphviz(out, dot.picture, write_vertex, write_edge,
                        [&](std::ostream& o) { write_clusters(o, dot.clusters); });
  return std::move(out).str();
}

std::string to_dot(std::span<const Variable> outputs) { return to_dot(snapshot(outputs)); }

}  // namespace damo
