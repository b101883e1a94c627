#include "ops/rewrites/fusion_repeats.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ops/index_along_op.hpp"
#include "ops/indexing/take_op.hpp"
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
  Repeats(FunctionGraph& graph, std::span<const int> kernel_of) : graph_(graph), kernel_of_(kernel_of.begin(), kernel_of.end()) {}

  bool run() {
    bool copied = false;
    for (NodeId node : graph_.nodes()) {
      if (kernel(node) >= 0) copied |= give_copies(node);
    }
    return copied;
  }

 private:
  int kernel(NodeId node) const { return node == NodeId::kNone ? -1 : kernel_of_[static_cast<std::size_t>(node)]; }

  /// What makes a value: nodes, inputs before users, and the array of its own size that it follows from, if there is one.
  struct Making {
    std::vector<NodeId> nodes;
    ValueId array = ValueId::kNone;
    int cost = 0;
    bool reads_made = false;  // what is small, of a kernel
  };

  /// Nothing: it is not free.
  std::optional<Making> making_of(NodeId node) const {
    Making making;
    if (!collect(node, graph_.type(graph_.outputs(node)[0]), making) || (making.reads_made && making.array == ValueId::kNone)) return {};
    return making;
  }

  bool collect(NodeId node, const TensorType& value, Making& making) const {
    if (std::find(making.nodes.begin(), making.nodes.end(), node) != making.nodes.end()) return true;
    const KernelOp& op = kernel_op(graph_, node);
    making.cost += op.cost();
    if (making.cost > kFreeCost || op.reduced_axes() || graph_.outputs(node).size() != 1) return false;
    const bool counts = dynamic_cast<const IndexAlongOp*>(&op);
    int position = 0;
    for (ValueId input : graph_.inputs(node)) {
      const bool is_table = op.reads_table(position++);
      if (graph_.is_literal(input)) continue;
      const NodeId owner = graph_.owner(input);
      if (is_table) {  // in memory all the same
        making.reads_made |= kernel(owner) >= 0;
        continue;
      }
      const bool is_few = is_small(graph_.type(input).dims, value.dims);
      if (kernel(owner) < 0) {
        if (!counts && !is_few && !takes(input, value, making)) return false;
        continue;
      }
      if (counts) return false;
      Making tried = making;
      if (collect(owner, value, tried)) making = std::move(tried);
      else if (is_few) making.reads_made = true;
      else return false;
    }
    making.nodes.push_back(node);
    return true;
  }

  /// Whether the array, of the value's own size, may be read in its place.
  bool takes(ValueId array, const TensorType& value, Making& making) const {
    if (making.array == array) return true;
    const NodeId owner = graph_.owner(array);
    const TensorType& type = graph_.type(array);
    const bool lies_so = owner == NodeId::kNone ? !graph_.shared(array) : graph_.op(owner).view_of(0) < 0 && !dynamic_cast<const TakeOp*>(&graph_.op(owner));
    if (making.array != ValueId::kNone || !lies_so || !(type.dims == value.dims) || itemsize(type.dtype) > itemsize(value.dtype)) return false;
    making.array = array;
    return true;
  }

  bool give_copies(NodeId node) {
    const ValueId value = graph_.outputs(node)[0];
    std::vector<Use> readers;
    bool is_needed = false;  // whoever makes it again
    for (const Use& use : graph_.uses(value)) {
      const int reader = kernel(use.node);
      if (reader >= 0 && reader == kernel(node)) continue;
      const bool is_own_shape = reader >= 0 && !reads_table(graph_, use.node, use.position) && (kernel_op(graph_, use.node).reduced_axes() || graph_.type(graph_.outputs(use.node)[0]).dims == graph_.type(value).dims);
      if (is_own_shape) readers.push_back(use);
      else is_needed = true;
    }
    if (readers.empty()) return false;
    const std::optional<Making> making = making_of(node);
    if (!making || (making->array != ValueId::kNone && is_needed)) return false;
    for (const Use& use : readers) graph_.set_input(use.node, use.position, copied(making->nodes, kernel(use.node)));
    return true;
  }

  /// For a reader of the kernel, whose copies are: what the reader makes may be free too, by way of them.
  ValueId copied(const std::vector<NodeId>& nodes, int reader) {
    std::unordered_map<ValueId, ValueId> copies;
    ValueId last = ValueId::kNone;
    for (NodeId node : nodes) {
      std::vector<ValueId> inputs(graph_.inputs(node).begin(), graph_.inputs(node).end());
      for (ValueId& input : inputs) {
        if (const auto found = copies.find(input); found != copies.end()) input = found->second;
      }
      const ValueId output = graph_.outputs(node)[0];
      const NodeId copy = graph_.add(graph_.op_ptr(node), inputs, {&graph_.type(output), 1}, graph_.where(node));
      kernel_of_.resize(static_cast<std::size_t>(graph_.node_limit()), -1);
      kernel_of_[static_cast<std::size_t>(copy)] = reader;
      last = graph_.outputs(copy)[0];
      copies.emplace(output, last);
    }
    return last;
  }

  FunctionGraph& graph_;
  std::vector<int> kernel_of_;  // by node
};

}  // namespace

bool repeat_free_values(FunctionGraph& graph, std::span<const int> kernel_of) { return Repeats(graph, kernel_of).run(); }

}  // namespace damo
