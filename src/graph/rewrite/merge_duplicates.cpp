#include <algorithm>
#include <string_view>
#include <vector>

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
    const bool is_literal = graph.is_literal(value);
    const std::size_t hash = is_literal ? mix(static_cast<std::size_t>(graph.type(value).dtype), graph.number_bits(value)) : hash_of(*constant);
    const int same = seen.find_or_add(hash, i, [&](int number) {
      const auto other = static_cast<ValueId>(number);
      if (&graph.type(other) != &graph.type(value)) return false;
      return is_literal ? graph.number_bits(other) == graph.number_bits(value) : graph.constant(other)->bytes == constant->bytes;
    });
    if (same >= 0) graph.replace(value, static_cast<ValueId>(same));
  }
}

/// For each op of the graph the number of the first that is equal to it.
std::vector<int> equal_ops(const FunctionGraph& graph) {
  HashIndex seen(static_cast<std::size_t>(graph.op_limit()));
  std::vector<int> first(static_cast<std::size_t>(graph.op_limit()));
  for (int i = 0; i < graph.op_limit(); ++i) {
    const Op& op = graph.op(static_cast<OpId>(i));
    const int same = seen.find_or_add(op.hash(), i, [&](int other) { return graph.op(static_cast<OpId>(other)).equals(op); });
    first[static_cast<std::size_t>(i)] = same < 0 ? i : same;
  }
  return first;
}

}  // namespace

FunctionGraph merge_duplicates(FunctionGraph graph) {
  merge_constants(graph);
  const std::vector<int> equal = equal_ops(graph);
  const auto op_of = [&](NodeId node) { return equal[static_cast<std::size_t>(graph.op_id(node))]; };
  const auto hash_of = [&](NodeId node) {
    auto hash = static_cast<std::size_t>(op_of(node));
    for (ValueId input : graph.inputs(node)) hash = mix(hash, static_cast<std::size_t>(input));
    return hash;
  };
  const auto is_same = [&](NodeId a, NodeId b) {
    const auto left = graph.inputs(a), right = graph.inputs(b);
    return op_of(a) == op_of(b) && std::equal(left.begin(), left.end(), right.begin(), right.end());
  };
  HashIndex seen(static_cast<std::size_t>(graph.node_count()));
  for (NodeId node : some_order(graph)) {
    const int same = seen.find_or_add(hash_of(node), static_cast<int>(node), [&](int other) { return is_same(static_cast<NodeId>(other), node); });
    if (same < 0) continue;
    for (std::size_t i = 0; i < graph.outputs(node).size(); ++i) graph.replace(graph.outputs(node)[i], graph.outputs(static_cast<NodeId>(same))[i]);
  }
  graph.prune();
  return graph;
}

}  // namespace damo
