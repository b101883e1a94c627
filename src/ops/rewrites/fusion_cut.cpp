#include "ops/rewrites/fusion_cut.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "ops/lower.hpp"
#include "ops/number_arguments.hpp"
#include "ops/rewrites/tree_cut.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

/// What ending a kernel behind a member would mean.
struct End {
  int written = 0;          // arrays: outputs in any case, and values that later members read
  bool has_room = false;    // for all numbers beside these arrays; else some would stand in the text, which no like part would share
  std::int64_t crossed = 0; // bytes an element that are written and read again because the kernel ends here
  int cost = 0;             // of the members up to there
};

/// The compiler's time grows faster than a kernel: one of 2,500 instructions an element takes it more than twice as long as one of half of them (docs/performance.md). A list that is too long for one kernel
/// is therefore cut behind so many, where one array alone is written and read again for it: a GPU does some 7 instructions while memory moves a byte, so that costs little beside them.
constexpr int kLongKernel = 1250;
constexpr std::int64_t kFewBytes = 8;

}  // namespace

void FusionCut::enter(const std::vector<NodeId>& members) {
  ++lists_;
  closing_.assign(members.size(), ValueId::kNone);
  for (std::size_t i = 0; i < members.size(); ++i) {
    at(graph_.outputs(members[i])[0]) = {.last = static_cast<int>(i), .list = lists_, .made = static_cast<int>(i)};
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (ValueId input : graph_.inputs(members[i])) {
      if (Value& value = at(input); value.list == lists_) value.last = static_cast<int>(i), ++value.readers;
    }
  }
  for (NodeId node : members) {
    const ValueId output = graph_.outputs(node)[0];
    Value& value = at(output);
    value.leaves = std::any_of(graph_.uses(output).begin(), graph_.uses(output).end(), [&](const Use& use) {
      return use.node == NodeId::kNone || graph_.outputs(use.node).size() != 1 || at(graph_.outputs(use.node)[0]).list != lists_;
    });
    value.next = std::exchange(closing_[static_cast<std::size_t>(value.last)], output);
  }
}

/// Whether two steps print alike: they do the same, and where one reads a number the other does.
bool FusionCut::begins_alike(NodeId a, NodeId b) const {
  const auto inputs_a = graph_.inputs(a), inputs_b = graph_.inputs(b);
  if (inputs_a.size() != inputs_b.size() || !graph_.op(a).equals(graph_.op(b))) return false;
  for (std::size_t i = 0; i < inputs_a.size(); ++i) {
    if (graph_.is_literal(inputs_a[i]) != graph_.is_literal(inputs_b[i])) return false;
  }
  return true;
}

/// The run that starts at `begin` goes as far as the limits allow, then back, up to half its length, to where ending it costs
/// least; of a list that is too long for one kernel to kLongKernel, where little crosses there and the next one begins alike. An end that writes more arrays than the limit, or leaves numbers no room, counts only if there is no other.
std::size_t FusionCut::end_of_run(const std::vector<NodeId>& members, std::size_t begin) {
  ++runs_;
  passed_.push_back(Apart::kNone);
  std::vector<End> ends;  // behind members begin, begin + 1, ...
  int cost = 0, numbers = 0, read = 0, leaving = 0, open = 0, open_words = 0, words = 0, most_words = 0;
  std::int64_t crossed = 0;
  const auto bytes = [&](ValueId value) { return static_cast<std::int64_t>(itemsize(graph_.type(value).dtype)) * (at(value).leaves ? 1 : 2); };
  std::size_t end = begin;
  for (; end < members.size(); ++end) {
    const NodeId node = members[end];
    const ValueId output = graph_.outputs(node)[0];
    cost += kernel_op(graph_, node).cost();
    for (ValueId input : graph_.inputs(node)) {
      const bool is_made_here = at(input).list == lists_ && at(input).made >= static_cast<int>(begin);
      if (graph_.is_literal(input)) numbers += bytes_of_number(graph_.type(input).dtype);
      if (is_made_here || graph_.is_literal(input) || at(input).run == runs_) continue;
      at(input).run = runs_;
      ++read;
      words += words_of(graph_.type(input).dtype);
    }
    if (at(output).leaves) {
      ++leaving;
      words += words_of(graph_.type(output).dtype);
    } else {
      ++open;
      open_words += words_of(graph_.type(output).dtype);
    }
    most_words = std::max(most_words, open_words);
    crossed += bytes(output);
    for (ValueId closed = closing_[end]; closed != ValueId::kNone; closed = at(closed).next) {
      if (at(closed).made < static_cast<int>(begin)) continue;
      crossed -= bytes(closed);
      if (at(closed).leaves) continue;
      --open;
      open_words -= words_of(graph_.type(closed).dtype);
    }
    ends.push_back({leaving + open, numbers <= room_for_numbers(read + leaving + open), crossed, cost});
    const Apart passed = cost > limits_.cost                                  ? Apart::kCost
                         : read > limits_.inputs                             ? Apart::kInputs
                         : leaving > limits_.outputs                         ? Apart::kOutputs
                         : words + most_words > limits_.registers            ? Apart::kRegisters
                         : numbers > room_for_numbers(read + leaving)        ? Apart::kNumbers
                                                                             : Apart::kNone;
    passed_.back() = passed;
    if (passed != Apart::kNone && end > begin) break;
  }
  const bool is_last = end == members.size();
  if (is_last && begin == 0) return end;
  const auto fits = [&](std::size_t cut) { return ends[cut - begin - 1].written <= limits_.outputs && ends[cut - begin - 1].has_room; };
  if (is_last || passed_.back() == Apart::kCost) {
    for (std::size_t cut = begin + 1; cut < end; ++cut) {
      const End& here = ends[cut - begin - 1];
      if (here.cost >= kLongKernel && here.crossed <= kFewBytes && fits(cut) && begins_alike(members[cut], members[begin])) return cut;
    }
  }
  if (is_last) return end;
  std::size_t best = end;
  while (best > begin + 1 && !fits(best)) --best;
  bool best_is_like = begins_alike(members[best], members[begin]);
  for (std::size_t cut = best; cut > begin + (end - begin) / 2; --cut) {
    const std::int64_t cost_here = ends[cut - begin - 1].crossed, least = ends[best - begin - 1].crossed;
    if (!fits(cut) || cost_here > least || (cost_here == least && best_is_like)) continue;
    const bool is_like = begins_alike(members[cut], members[begin]);
    if (cost_here == least && !is_like) continue;
    best = cut;
    best_is_like = is_like;
  }
  return best;
}

/// Whether no value has two readers in the list, and so many branches meet that a run of the list would begin anywhere in a tree: the number of Horton and
/// Strahler, which is 1 for a chain, 2 for a sum of terms, 1 + log2(n) for a balanced tree of n leaves.
bool FusionCut::is_bushy(const std::vector<NodeId>& members) {
  constexpr int kBushy = 5;
  std::vector<int> strahler(members.size(), 1);
  int most = 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (at(graph_.outputs(members[i])[0]).readers > 1) return false;
    int greatest = 0, times = 0;
    for (ValueId input : graph_.inputs(members[i])) {
      if (at(input).list != lists_) continue;
      const int own = strahler[static_cast<std::size_t>(at(input).made)];
      if (own > greatest) greatest = own, times = 1;
      else if (own == greatest) ++times;
    }
    strahler[i] = std::max(1, greatest + (times > 1 ? 1 : 0));
    most = std::max(most, strahler[i]);
  }
  return most >= kBushy;
}

std::vector<std::vector<NodeId>> FusionCut::operator()(const std::vector<NodeId>& members) {
  passed_.clear();
  if (members.size() < 2) {
    passed_.push_back(Apart::kNone);
    return {members};
  }
  const std::vector<NodeId> ordered = order_(members);
  enter(ordered);
  const std::size_t first_end = end_of_run(ordered, 0);
  if (first_end < ordered.size() && is_bushy(ordered)) return TreeCut(graph_, limits_)(ordered);
  std::vector<std::vector<NodeId>> runs;
  for (std::size_t begin = 0; begin < ordered.size();) {
    const std::size_t end = begin == 0 ? first_end : end_of_run(ordered, begin);
    runs.emplace_back(ordered.begin() + static_cast<std::ptrdiff_t>(begin), ordered.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  return runs;
}

}  // namespace damo
