#include "ops/rewrites/tree_cut.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "ops/lower.hpp"
#include "ops/number_arguments.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

std::size_t at(int place) { return static_cast<std::size_t>(place); }

}  // namespace

bool TreeCut::fits(const Part& part) const {
  int words = part.needed + part.words_leaving;
  for (ValueId value : part.read) words += words_of(graph_.type(value).dtype);
  const int arrays = static_cast<int>(part.read.size()) + part.leaving;
  return part.cost <= limits_.cost && static_cast<int>(part.read.size()) <= limits_.inputs && part.leaving <= limits_.outputs && words <= limits_.registers && part.numbers <= room_for_numbers(arrays);
}

void TreeCut::read(Part& part, ValueId value) {
  if (std::find(part.read.begin(), part.read.end(), value) == part.read.end()) part.read.push_back(value);
}

/// The node with the parts at the open places taken in; all else that it reads is an array.
TreeCut::Part TreeCut::step(NodeId node, const Places& open) {
  const ValueId output = graph_.outputs(node)[0];
  const int own = words_of(graph_.type(output).dtype);
  Part part{.cost = kernel_op(graph_, node).cost(), .read = {}};
  SmallList<int, 4> needs;
  for (int place : open) {
    const Part& taken = parts_[at(place)];
    part.cost += taken.cost;
    part.numbers += taken.numbers;
    part.leaving += taken.leaving;
    part.words_leaving += taken.words_leaving;
    for (ValueId value : taken.read) read(part, value);
    needs.push_back(taken.needed);
  }
  for (ValueId input : graph_.inputs(node)) {
    const NodeId owner = graph_.owner(input);
    const int place = owner == NodeId::kNone ? -1 : place_[static_cast<std::size_t>(owner)];
    if (graph_.is_literal(input)) part.numbers += bytes_of_number(graph_.type(input).dtype);
    else if (std::find(open.begin(), open.end(), place) == open.end()) read(part, input);
  }
  std::sort(needs.begin(), needs.end(), std::greater<>());
  part.needed = own;
  int held = 0;
  for (int needed : needs) part.needed = std::max(part.needed, held + needed), held += own;
  return part;
}

std::vector<std::vector<NodeId>> TreeCut::operator()(const std::vector<NodeId>& members) {
  place_.assign(static_cast<std::size_t>(graph_.node_limit()), -1);
  parts_.assign(members.size(), {});
  std::vector<int> taken_by(members.size(), -1);  // by place: of the step that took the part in
  for (std::size_t i = 0; i < members.size(); ++i) {
    const NodeId node = members[i];
    Places open;
    for (ValueId input : graph_.inputs(node)) {
      const NodeId owner = graph_.owner(input);
      const int place = owner == NodeId::kNone ? -1 : place_[static_cast<std::size_t>(owner)];
      if (place >= 0 && std::find(open.begin(), open.end(), place) == open.end()) open.push_back(place);
    }
    place_[static_cast<std::size_t>(node)] = static_cast<int>(i);
    const ValueId output = graph_.outputs(node)[0];
    const auto uses = graph_.uses(output);
    const bool leaves = std::any_of(uses.begin(), uses.end(), [](const Use& use) { return use.node == NodeId::kNone; }) || uses.size() != 1;
    const auto with_result = [&](Part part) {  // as if the kernel ended here
      ++part.leaving;
      part.words_leaving += words_of(graph_.type(output).dtype);
      return part;
    };
    Part part = step(node, open);
    while (!open.empty() && !fits(with_result(part))) {
      int largest = 0;
      for (int place : open) largest = std::max(largest, parts_[at(place)].cost);
      open.erase_if([&](int place) { return parts_[at(place)].cost == largest; });
      part = step(node, open);
    }
    for (int place : open) {
      taken_by[at(place)] = static_cast<int>(i);
      parts_[at(place)].read = {};
    }
    parts_[i] = leaves ? with_result(std::move(part)) : std::move(part);
  }
  std::vector<int> kernel_of(members.size(), -1);
  std::vector<std::vector<NodeId>> kernels;
  for (std::size_t i = members.size(); i-- > 0;) {  // users before inputs
    if (taken_by[i] >= 0) {
      kernel_of[i] = kernel_of[at(taken_by[i])];
    } else {
      kernel_of[i] = static_cast<int>(kernels.size());
      kernels.emplace_back();
    }
  }
  for (std::size_t i = 0; i < members.size(); ++i) kernels[at(kernel_of[i])].push_back(members[i]);
  return kernels;
}

}  // namespace damo
