#include "ops/rewrites/fusion_repeats.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "ops/index_along_op.hpp"
#include "ops/lower.hpp"

namespace damo {
namespace {

constexpr std::int64_t kFewer = 8;  // elements for one of what they follow from, at least

/// Whether an array that broadcasts to the dims has so many fewer elements, as far as they are known.
bool is_small(const Shape& array, const Shape& dims) {
  bool stretches = false;
  std::int64_t times = 1;
  for (int axis = 1; axis <= dims.rank(); ++axis) {
    const std::int64_t own = axis <= array.rank() ? array[array.rank() - axis] : 1, extent = dims[dims.rank() - axis];
    if (own != 1 || extent == 1) continue;
    stretches = true;
    times = extent == kUnknown ? kFewer : std::min(times * extent, kFewer);
  }
  return stretches && times >= kFewer;
}

class Repeats {
 public:
  Repeats(FunctionGraph& graph, std::span<const int> kernel_of) : graph_(graph), kernel_of_(kernel_of) {}

  bool run() {
    bool copied = false;
    for (NodeId node : graph_.nodes()) {
      if (static_cast<std::size_t>(node) < kernel_of_.size() && kernel(node) >= 0) copied |= give_copies(node);
    }
    return copied;
  }

 private:
  int kernel(NodeId node) const { return node == NodeId::kNone ? -1 : kernel_of_[static_cast<std::size_t>(node)]; }

  /// The nodes that make a free value, inputs before users; none: it is not free.
  std::vector<NodeId> made_by(NodeId node) const {
    std::vector<NodeId> nodes;
    int cost = 0;
    const Shape& dims = graph_.type(graph_.outputs(node)[0]).dims;
    return collect(node, dims, nodes, cost) ? nodes : std::vector<NodeId>();
  }

  bool collect(NodeId node, const Shape& dims, std::vector<NodeId>& nodes, int& cost) const {
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return true;
    const KernelOp& op = kernel_op(graph_, node);
    cost += op.cost();
    if (cost > kFreeCost || op.reduced_axes() || graph_.outputs(node).size() != 1) return false;
    const bool counts = dynamic_cast<const IndexAlongOp*>(&op);
    for (ValueId input : graph_.inputs(node)) {
      if (graph_.is_literal(input)) continue;
      const NodeId owner = graph_.owner(input);
      if (kernel(owner) >= 0 ? counts || !collect(owner, dims, nodes, cost) : !counts && !is_small(graph_.type(input).dims, dims)) return false;
    }
    nodes.push_back(node);
    return true;
  }

  bool give_copies(NodeId node) {
    const ValueId value = graph_.outputs(node)[0];
    std::vector<Use> readers;
    for (const Use& use : graph_.uses(value)) {
      const int reader = kernel(use.node);
      if (reader < 0 || reader == kernel(node)) continue;
      const bool is_own_shape = kernel_op(graph_, use.node).reduced_axes() || graph_.type(graph_.outputs(use.node)[0]).dims == graph_.type(value).dims;
      if (is_own_shape) readers.push_back(use);
    }
    if (readers.empty()) return false;
    const std::vector<NodeId> nodes = made_by(node);
    if (nodes.empty()) return false;
    for (const Use& use : readers) graph_.set_input(use.node, use.position, copied(nodes));
    return true;
  }

  ValueId copied(const std::vector<NodeId>& nodes) {
    std::unordered_map<ValueId, ValueId> copies;
    ValueId last = ValueId::kNone;
    for (NodeId node : nodes) {
      std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
      for (ValueId& input : inputs) {
        if (const auto found = copies.find(input); found != copies.end()) input = found->second;
      }
      const ValueId output = graph_.outputs(node)[0];
      last = graph_.outputs(graph_.add(graph_.op_ptr(node), inputs, {&graph_.type(output), 1}, graph_.where(node)))[0];
      copies.emplace(output, last);
    }
    return last;
  }

  FunctionGraph& graph_;
  std::span<const int> kernel_of_;
};

}  // namespace

bool repeat_free_values(FunctionGraph& graph, std::span<const int> kernel_of) { return Repeats(graph, kernel_of).run(); }

}  // namespace damo
