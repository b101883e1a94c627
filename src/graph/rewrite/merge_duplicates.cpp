#include <algorithm>
#include <string_view>

#include <damo/rewrite.hpp>
#include "graph/base/hash_index.hpp"
#include "graph/order.hpp"

namespace damo {
namespace {

std::size_t mix(std::size_t hash, std::size_t more) { return (hash ^ more) * 0x9e3779b97f4a7c15u + (hash >> 31); }

std::size_t hash_of(const ConstantData& constant) {
  std::size_t hash = mix(static_cast<std::size_t>(constant.type.dtype), constant.bytes.size());
  const std::string_view bytes(reinterpret_cast<const char*>(constant.bytes.data()), constant.bytes.size());
  return mix(hash, std::hash<std::string_view>()(bytes));
}

void merge_constants(FunctionGraph& graph) {
  HashIndex seen(64);
  for (int i = 0; i < graph.value_limit(); ++i) {
    const auto value = static_cast<ValueId>(i);
    const ConstantPtr& constant = graph.constant(value);
    if (!constant || graph.uses(value).empty()) continue;
    const int same = seen.find_or_add(hash_of(*constant), i, [&](int number) {
      const ConstantData& other = *graph.constant(static_cast<ValueId>(number));
      return other.type == constant->type && other.bytes == constant->bytes;
    });
    if (same >= 0) graph.replace(value, static_cast<ValueId>(same));
  }
}

std::size_t hash_of(const FunctionGraph& graph, NodeId node) {
  std::size_t hash = graph.op(node).hash();
  for (ValueId input : graph.inputs(node)) hash = mix(hash, static_cast<std::size_t>(input));
  return hash;
}

bool is_same(const FunctionGraph& graph, NodeId a, NodeId b) {
  const auto left = graph.inputs(a), right = graph.inputs(b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end()) && graph.op(a).equals(graph.op(b));
}

}  // namespace

FunctionGraph merge_duplicates(FunctionGraph graph) {
  merge_constants(graph);
  HashIndex seen(static_cast<std::size_t>(graph.node_count()));
  for (NodeId node : some_order(graph)) {
    const int same = seen.find_or_add(hash_of(graph, node), static_cast<int>(node), [&](int other) { return is_same(graph, static_cast<NodeId>(other), node); });
    if (same < 0) continue;
    for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) graph.replace(graph.outputs(node)[i], graph.outputs(static_cast<NodeId>(same))[i]);
  }
  graph.prune();
  return graph;
}

}  // namespace damo
