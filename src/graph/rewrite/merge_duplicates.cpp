#include <algorithm>
#include <unordered_map>

#include <damo/rewrite.hpp>

namespace damo {
namespace {

std::size_t mix(std::size_t hash, std::size_t more) { return (hash ^ more) * 0x9e3779b97f4a7c15u + (hash >> 31); }

std::size_t hash_of(const ConstantData& constant) {
  std::size_t hash = mix(static_cast<std::size_t>(constant.type.dtype), constant.bytes.size());
  const std::string_view bytes(reinterpret_cast<const char*>(constant.bytes.data()), constant.bytes.size());
  return mix(hash, std::hash<std::string_view>()(bytes));
}

void merge_constants(FunctionGraph& graph) {
  std::unordered_multimap<std::size_t, ValueId> seen;
  for (int i = 0; i < graph.value_limit(); ++i) {
    const auto value = static_cast<ValueId>(i);
    const ConstantPtr& constant = graph.constant(value);
    if (!constant || graph.uses(value).empty()) continue;
    const std::size_t hash = hash_of(*constant);
    ValueId same = ValueId::kNone;
    for (auto [it, end] = seen.equal_range(hash); it != end; ++it) {
      const ConstantData& other = *graph.constant(it->second);
      if (other.type == constant->type && other.bytes == constant->bytes) same = it->second;
    }
    if (same == ValueId::kNone) seen.emplace(hash, value);
    else graph.replace(value, same);
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
  std::unordered_multimap<std::size_t, NodeId> seen;
  seen.reserve(static_cast<std::size_t>(graph.node_count()));
  for (NodeId node : graph.toposort()) {
    const std::size_t hash = hash_of(graph, node);
    NodeId same = NodeId::kNone;
    for (auto [it, end] = seen.equal_range(hash); it != end; ++it) {
      if (is_same(graph, it->second, node)) same = it->second;
    }
    if (same == NodeId::kNone) {
      seen.emplace(hash, node);
      continue;
    }
    for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) graph.replace(graph.outputs(node)[i], graph.outputs(same)[i]);
  }
  graph.prune();
  return graph;
}

}  // namespace damo
