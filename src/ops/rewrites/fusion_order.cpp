#include "ops/rewrites/fusion_order.hpp"

#include <algorithm>

#include "runtime/kernel/pressure.hpp"

namespace damo {

void FusionOrder::enter(const std::vector<NodeId>& members) {
  for (std::size_t i = 0; i < members.size(); ++i) place_[static_cast<std::size_t>(members[i])] = static_cast<int>(i);
}

void FusionOrder::leave(const std::vector<NodeId>& members) {
  for (NodeId node : members) place_[static_cast<std::size_t>(node)] = -1;
}

/// Places of the members that the node reads, the one that needs most words first.
FusionOrder::Places FusionOrder::inputs_inside(NodeId node) const {
  Places inputs;
  for (ValueId input : graph_.inputs(node)) {
    const int at = place(graph_.owner(input));
    if (at >= 0 && std::find(inputs.begin(), inputs.end(), at) == inputs.end()) inputs.push_back(at);
  }
  if (inputs.size() > 1) std::stable_sort(inputs.begin(), inputs.end(), [&](int a, int b) { return needed_[static_cast<std::size_t>(a)] > needed_[static_cast<std::size_t>(b)]; });
  return inputs;
}

/// Words that a step needs if each of its inputs is computed while those before it are held.
int FusionOrder::needed_by(const Places& inputs, int own) const {
  int needed = own, held = 0;
  for (int input : inputs) {
    needed = std::max(needed, held + needed_[static_cast<std::size_t>(input)]);
    held += own;
  }
  return needed;
}

std::vector<NodeId> FusionOrder::depth_first(const std::vector<NodeId>& members) {
  needed_.assign(members.size(), 0);
  std::vector<bool> is_read(members.size(), false);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Places inputs = inputs_inside(members[i]);
    for (int input : inputs) is_read[static_cast<std::size_t>(input)] = true;
    needed_[i] = needed_by(inputs, words_of(graph_.type(graph_.outputs(members[i])[0]).dtype));
  }
  struct Visit {
    int member;
    Places inputs;
    std::size_t next = 0;
  };
  std::vector<NodeId> order;
  order.reserve(members.size());
  std::vector<bool> is_entered(members.size(), false);
  std::vector<Visit> stack;
  const auto visit = [&](int member) {
    if (is_entered[static_cast<std::size_t>(member)]) return;
    is_entered[static_cast<std::size_t>(member)] = true;
    stack.push_back({member, inputs_inside(members[static_cast<std::size_t>(member)])});
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (is_read[i]) continue;
    visit(static_cast<int>(i));
    while (!stack.empty()) {
      Visit& top = stack.back();
      if (top.next < top.inputs.size()) {
        visit(top.inputs[top.next++]);
        continue;
      }
      order.push_back(members[static_cast<std::size_t>(top.member)]);
      stack.pop_back();
    }
  }
  return order;
}

int FusionOrder::words_held(const std::vector<NodeId>& members) {
  enter(members);
  std::vector<int> change(members.size() + 1, 0);
  for (std::size_t i = 0; i < members.size(); ++i) {
    const ValueId output = graph_.outputs(members[i])[0];
    int last = static_cast<int>(i);
    for (const Use& use : graph_.uses(output)) last = std::max(last, place(use.node));
    const int words = words_of(graph_.type(output).dtype);
    change[i] += words;
    change[static_cast<std::size_t>(last)] -= words;
  }
  leave(members);
  int held = 0, most = 0;
  for (int words : change) most = std::max(most, held += words);
  return most;
}

std::vector<NodeId> FusionOrder::operator()(const std::vector<NodeId>& members) {
  if (members.size() < 3) return members;
  enter(members);
  std::vector<NodeId> order = depth_first(members);
  leave(members);
  if (order == members) return members;
  return words_held(order) <= words_held(members) ? order : members;
}

}  // namespace damo
