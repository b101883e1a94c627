#include "ops/rewrites/fusion_reductions.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include <damo/kernel_op.hpp>
#include "ops/lower.hpp"
#include "ops/reduce_op.hpp"
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

constexpr int kMostReads = 64;  // that are looked at before a group stays on its level
constexpr std::int64_t kOneRow = 16384;  // elements of the only row that one block, or one thread of a CPU, goes through again and again
constexpr std::size_t kMostOfALongRow = 256;  // nodes of a group whose arrays are counted: each edge asks anew

/// Axes, those of extent 1 last: what broadcasts to a shape has fewer.
int count_axes(const std::vector<int>& shape) {
  const auto ones = std::count(shape.begin(), shape.end(), SymbolicShapes::kOne);
  return 64 * static_cast<int>(static_cast<std::ptrdiff_t>(shape.size()) - ones) + static_cast<int>(shape.size());
}

bool is_row_of(const std::vector<int>& row, const std::vector<int>& space, std::uint32_t axes) {
  if (row.size() != space.size()) return false;
  for (std::size_t axis = 0; axis < row.size(); ++axis) {
    if (row[axis] != ((axes >> axis & 1u) ? SymbolicShapes::kOne : space[axis])) return false;
  }
  return true;
}

}  // namespace

bool joins_many(const Shape& dims, std::uint32_t axes) {
  std::int64_t joined = 1;
  for (int axis = 0; axis < dims.rank() && joined < kFewestJoined; ++axis) {
    if (axes >> axis & 1u) joined *= std::max<std::int64_t>(dims[axis], 1);
  }
  return joined >= kFewestJoined;
}

ReductionGroups::ReductionGroups(const FunctionGraph& graph, const std::vector<std::vector<NodeId>>& groups, const std::unordered_set<NodeId>& alone)
    : graph_(graph), order_(graph.toposort()), shapes_(graph, order_), whole_of_(static_cast<std::size_t>(graph.node_limit()), -1), follows_scan_(static_cast<std::size_t>(graph.node_limit()), false) {
  const auto add = [&](std::vector<NodeId> nodes) -> Whole& {
    const int number = static_cast<int>(wholes_.size());
    for (NodeId node : nodes) whole_of_[static_cast<std::size_t>(node)] = number;
    wholes_.push_back({.nodes = std::move(nodes), .parent = number, .next = number});
    return wholes_.back();
  };
  for (const std::vector<NodeId>& nodes : groups) {
    Whole& whole = add(nodes);
    whole.takes_part = true;
    int widest = -1;
    for (NodeId node : nodes) {  // others are cheap to compute again for each of its elements
      const ValueId output = graph.outputs(node)[0];
      const int axes = count_axes(shapes_.of(output));
      if (axes <= widest) continue;
      widest = axes;
      whole.space = shapes_.of(output);
      whole.dims = graph.type(output).dims;
    }
  }
  std::unordered_map<NodeId, std::size_t> place;
  for (NodeId node : order_) {
    place.emplace(node, place.size());
    const auto* op = dynamic_cast<const KernelOp*>(&graph.op(node));
    bool follows = op && op->scans() != KernelOp::Scans::kNo;
    for (ValueId input : graph.inputs(node)) follows |= graph.owner(input) != NodeId::kNone && follows_scan_[static_cast<std::size_t>(graph.owner(input))];
    follows_scan_[static_cast<std::size_t>(node)] = follows;
    if (whole_of_[static_cast<std::size_t>(node)] >= 0) continue;
    Whole& whole = add({node});
    if (!op || !op->reduced_axes() || graph.outputs(node).size() != 1 || alone.contains(node)) continue;
    whole.space = shapes_.of(graph.inputs(node)[0]);
    whole.dims = graph.type(graph.inputs(node)[0]).dims;
    whole.takes_part = true;
    whole.axes = *op->reduced_axes();
    whole.reduces = true;
    whole.scans = scans_of(*op);
    whole.joins_rows = whole.scans == Scans::kNone;
    whole.may_go_across = is_plain_join(node);
  }
  // Producers first. A group's first reader may stand before the group's last node in the order of nodes, so edges are counted.
  // What may go across rows waits until the groups of rows that it may join are there.
  std::vector<int> waiting(wholes_.size(), 0), ready, ready_across;
  const auto becomes_ready = [&](int whole) { (wholes_[static_cast<std::size_t>(whole)].may_go_across ? ready_across : ready).push_back(whole); };
  readers_.resize(wholes_.size());
  for (int i = 0; i < static_cast<int>(wholes_.size()); ++i) {
    for (NodeId node : wholes_[static_cast<std::size_t>(i)].nodes) {
      for (ValueId input : graph.inputs(node)) {
        const int producer = producer_of(input);
        if (producer < 0 || producer == i) continue;
        readers_[static_cast<std::size_t>(producer)].push_back(i);
        ++waiting[static_cast<std::size_t>(i)];
      }
    }
    if (waiting[static_cast<std::size_t>(i)] == 0) becomes_ready(i);
  }
  while (!ready.empty() || !ready_across.empty()) {
    std::vector<int>& next = ready.empty() ? ready_across : ready;
    const int whole = next.back();
    next.pop_back();
    if (!join_across(whole)) join(whole);
    wholes_[static_cast<std::size_t>(whole)].is_done = true;
    for (int reader : readers_[static_cast<std::size_t>(whole)]) {
      if (--waiting[static_cast<std::size_t>(reader)] == 0) becomes_ready(reader);
    }
  }
  join_siblings();
  std::unordered_map<int, std::size_t> number;
  for (int i = 0; i < static_cast<int>(wholes_.size()); ++i) {
    if (!wholes_[static_cast<std::size_t>(i)].takes_part) continue;
    const auto [found, is_new] = number.try_emplace(find(i), groups_.size());
    if (is_new) groups_.emplace_back();
    const auto& nodes = wholes_[static_cast<std::size_t>(i)].nodes;
    groups_[found->second].insert(groups_[found->second].end(), nodes.begin(), nodes.end());
  }
  for (auto& group : groups_) std::sort(group.begin(), group.end(), [&](NodeId a, NodeId b) { return place.at(a) < place.at(b); });
}

ReductionGroups::Scans ReductionGroups::scans_of(const KernelOp& op) {
  if (op.scans() == KernelOp::Scans::kNo) return Scans::kNone;
  return op.scans() == KernelOp::Scans::kForward ? Scans::kForward : Scans::kBackward;
}

/// Whether one kernel may have the scans of both: in one direction and, beside reductions, along the last axis, of which none is across rows.
bool ReductionGroups::scan_alike(const Whole& a, const Whole& b) {
  if (a.scans == Scans::kNone && b.scans == Scans::kNone) return true;
  if (a.scans != Scans::kNone && b.scans != Scans::kNone && a.scans != b.scans) return false;
  return (!a.joins_rows && !b.joins_rows) || (a.axes >> (a.space.size() - 1) & 1u && a.across == 0 && b.across == 0);
}

int ReductionGroups::find(int whole) {
  while (wholes_[static_cast<std::size_t>(whole)].parent != whole) {
    int& parent = wholes_[static_cast<std::size_t>(whole)].parent;
    parent = wholes_[static_cast<std::size_t>(parent)].parent;
    whole = parent;
  }
  return whole;
}

void ReductionGroups::unite(int into, int from) {
  wholes_[static_cast<std::size_t>(from)].parent = into;
  Whole &root = wholes_[static_cast<std::size_t>(into)], &other = wholes_[static_cast<std::size_t>(from)];
  root.across |= other.across;
  root.joins_rows |= other.joins_rows;
  if (root.scans == Scans::kNone) root.scans = other.scans;
  std::swap(wholes_[static_cast<std::size_t>(into)].next, wholes_[static_cast<std::size_t>(from)].next);  // two rings become one
}

/// The group on that level, and what reads it above. Not where one of the others, which would then be no longer below it, follows from it, nor
/// where more than a few reads tell so.
bool ReductionGroups::raise(int group, int level, const std::map<int, bool>& others) {
  std::map<int, int> levels = {{group, level}};
  std::vector<int> raised = {group};
  int reads = 0;
  for (std::size_t i = 0; i < raised.size(); ++i) {
    const int from = raised[i], above = levels[from] + 1;
    for (int member = wholes_[static_cast<std::size_t>(from)].next;; member = wholes_[static_cast<std::size_t>(member)].next) {
      for (int reader : readers_[static_cast<std::size_t>(member)]) {
        if (++reads > kMostReads) return false;
        const int to = find(reader);
        if (to == from || !wholes_[static_cast<std::size_t>(reader)].is_done) continue;
        const auto [found, is_new] = levels.try_emplace(to, wholes_[static_cast<std::size_t>(to)].level);
        if (found->second >= above) continue;
        if (others.contains(to)) return false;
        found->second = above;
        raised.push_back(to);
      }
      if (member == from) break;
    }
  }
  for (const auto& [raised_group, to] : levels) wholes_[static_cast<std::size_t>(raised_group)].level = to;
  return true;
}

/// The whole that makes the value; -1 for inputs and constants.
int ReductionGroups::producer_of(ValueId value) const {
  return graph_.owner(value) == NodeId::kNone ? -1 : whole_of_[static_cast<std::size_t>(graph_.owner(value))];
}

/// What stands against one space and one set of axes for both groups.
Apart ReductionGroups::against(int a, int b) {
  const Whole *x = &wholes_[static_cast<std::size_t>(find(a))], *y = &wholes_[static_cast<std::size_t>(find(b))];
  if (x == y) return Apart::kNone;
  if (!x->takes_part || !y->takes_part) return Apart::kCycle;
  if (x->reduces && y->reduces) {
    if (x->space != y->space || x->axes != y->axes || (x->across && y->across && x->across != y->across)) return Apart::kAxes;
    return scan_alike(*x, *y) ? Apart::kNone : Apart::kScan;
  }
  if (y->reduces) std::swap(x, y);
  return y->space == x->space || (x->reduces && is_row_of(y->space, x->space, x->axes)) ? Apart::kNone : Apart::kShape;
}

/// One row of many elements is one block's work, or one thread's, if it is gone through twice; unless there are so many that a kernel goes through them each pass (Dialect::prefers_passes). Each of these reads what
/// elements of the row are made of, which takes no longer than to leave elements from one kernel to the next where that is one array.
bool ReductionGroups::may_spread(const Whole& group) const {
  std::int64_t length = 1;
  bool is_known = true;
  for (int axis = 0; axis < group.dims.rank(); ++axis) {
    if (!(group.axes >> axis & 1u)) return true;
    if (group.dims[axis] == kUnknown) is_known = false;
    else length = std::min(length * group.dims[axis], kLongRow);
  }
  return is_known && (length <= kOneRow || (length == kLongRow && reads_one_array(group)));
}

/// Whether the group reads one value of its space that it does not make, or none. Not known, and so no, of a group of more than kMostOfALongRow nodes.
bool ReductionGroups::reads_one_array(const Whole& group) const {
  std::unordered_set<NodeId> nodes;
  const Whole* member = &group;
  do {
    if (nodes.size() + member->nodes.size() > kMostOfALongRow) return false;
    nodes.insert(member->nodes.begin(), member->nodes.end());
    member = &wholes_[static_cast<std::size_t>(member->next)];
  } while (member != &group);
  std::optional<ValueId> only;
  for (NodeId node : nodes) {
    for (ValueId input : graph_.inputs(node)) {
      const bool is_made = graph_.owner(input) != NodeId::kNone && nodes.contains(graph_.owner(input));
      if (is_made || shapes_.of(input) != group.space) continue;
      if (only && *only != input) return false;
      only = input;
    }
  }
  return true;
}

/// What stands against the edge: it should stay in one domain, or lead from a row to its elements.
Apart ReductionGroups::against(const Whole& from, const Whole& to, NodeId node, ValueId input) const {
  if (reads_as_table(graph_, node, input)) return Apart::kTable;
  const std::vector<int> read = shapes_.of(input), made = to.reduces ? to.space : shapes_.of(graph_.outputs(node)[0]);
  if (read == made) return Apart::kNone;
  if (!from.reduces || !is_row_of(read, from.space, from.axes) || made != from.space) return Apart::kShape;
  return may_spread(from) ? Apart::kNone : Apart::kOneRow;
}

/// Whether what the reduction gives is a join itself, of elements alone, and there are rows along the last axis that it could be across.
bool ReductionGroups::is_plain_join(NodeId node) const {
  const KernelOp& op = kernel_op(graph_, node);
  const int rank = graph_.type(graph_.inputs(node)[0]).dims.rank();
  const std::uint32_t axes = *op.reduced_axes();
  if (op.scans() != KernelOp::Scans::kNo || axes == 0 || axes >> (rank - 1) & 1u) return false;
  const KernelSpec spec = lower(op, graph_.apply(node));
  int joins = 0;
  each_accumulator(spec, [&](const Join&) { ++joins; });
  return joins == 1 && !spec.uses_place() && spec.stores[0] >= spec.first_step() && spec.step_of(spec.stores[0]).join;
}

/// Whether the group's rows are what the reduction goes across, and its result is neither an element nor a value of a row.
bool ReductionGroups::has_rows_for(const Whole& group, const Whole& whole) const {
  const auto all = static_cast<std::uint32_t>((std::uint64_t{1} << whole.space.size()) - 1);
  const std::vector<int>& result = shapes_.of(graph_.outputs(whole.nodes[0])[0]);
  if (!group.takes_part || !group.reduces || group.scans != Scans::kNone || group.space != whole.space || (group.axes & whole.axes) != 0) return false;
  if (!(group.axes >> (whole.space.size() - 1) & 1u)) return false;  // by which a kernel tells its rows
  if (group.across != 0 && group.across != whole.axes) return false;
  if ((group.axes | whole.axes) != all && !joins_many(whole.dims, whole.axes)) return false;
  return result != group.space && !is_row_of(result, group.space, group.axes);
}

/// A group of rows that reads the value, which the reduction reads; -1: none.
int ReductionGroups::group_beside(ValueId value, const Whole& whole) {
  for (const Use& use : graph_.uses(value)) {
    if (use.node == NodeId::kNone) continue;
    const int reader = whole_of_[static_cast<std::size_t>(use.node)];
    if (wholes_[static_cast<std::size_t>(reader)].is_done && has_rows_for(wholes_[static_cast<std::size_t>(find(reader))], whole)) return find(reader);
  }
  return -1;
}

/// Into a group of rows that makes or reads what the reduction reads, on whose level it may be: all that it reads besides is made before. The group keeps
/// its space, and nothing in it reads the result.
bool ReductionGroups::join_across(int number) {
  Whole& whole = wholes_[static_cast<std::size_t>(number)];
  if (!whole.may_go_across) return false;
  int group = -1, least = 0;
  for (ValueId input : graph_.inputs(whole.nodes[0])) {
    const int producer = producer_of(input);
    if (shapes_.of(input) != whole.space) return false;
    if (producer >= 0 && has_rows_for(wholes_[static_cast<std::size_t>(find(producer))], whole)) group = find(producer);
  }
  for (ValueId input : graph_.inputs(whole.nodes[0])) {
    if (group < 0) group = group_beside(input, whole);
  }
  if (group < 0) return false;
  for (ValueId input : graph_.inputs(whole.nodes[0])) {
    const int producer = producer_of(input);
    if (producer >= 0 && find(producer) != group) least = std::max(least, wholes_[static_cast<std::size_t>(find(producer))].level + 1);
  }
  if (least > wholes_[static_cast<std::size_t>(group)].level) return false;
  unite(group, number);
  Whole& rows = wholes_[static_cast<std::size_t>(group)];
  rows.across = whole.axes;
  whole.level = rows.level;
  return true;
}

/// The whole joins none of its producers, of which each alone would do.
void ReductionGroups::note_neighbours(int number) {
  for (NodeId node : wholes_[static_cast<std::size_t>(number)].nodes) {
    for (ValueId input : graph_.inputs(node)) {
      if (producer_of(input) >= 0 && producer_of(input) != number) record_.note(graph_.owner(input), node, Apart::kNeighbours);
    }
  }
}

void ReductionGroups::join(int number) {
  Whole& whole = wholes_[static_cast<std::size_t>(number)];
  if (!whole.takes_part) whole.level = -1;  // unless a group leads to it: a view of an input is before all groups, and keeps none of them apart
  std::map<int, bool> joins;  // by the producers' groups: whether all edges from it may be inside one
  for (NodeId node : whole.nodes) {
    for (ValueId input : graph_.inputs(node)) {
      const int producer = producer_of(input);
      if (producer < 0 || producer == number) continue;
      const Whole& from = wholes_[static_cast<std::size_t>(find(producer))];
      const auto [found, is_new] = joins.try_emplace(find(producer), true);
      Apart why = is_new ? against(producer, number) : Apart::kNone;
      // What is joined across the rows of a group is known when all of its rows are done, so no element of the group reads it.
      const Whole& own = wholes_[static_cast<std::size_t>(producer)];
      if (own.may_go_across && own.axes != from.axes) why = Apart::kAcross;
      const bool is_chain = whole.reduces && follows_scan_[static_cast<std::size_t>(graph_.owner(input))];
      if (is_chain && from.scans != Scans::kNone && why == Apart::kNone) why = Apart::kScan;
      if (found->second && why == Apart::kNone) why = against(from, whole, node, input);
      if (why == Apart::kNone) continue;
      found->second = false;
      if (why != Apart::kCycle) record_.note(graph_.owner(input), node, why);
    }
  }
  for (const auto& [producer, may_join] : joins) {
    const int level = wholes_[static_cast<std::size_t>(producer)].level;
    whole.level = std::max(whole.level, level + (may_join || level < 0 ? 0 : 1));
  }
  // A group that waits for nothing of what the whole waits for may be later: the rows of a loss, whose gradient also reads a number.
  for (const auto& [producer, may_join] : joins) {
    const Whole& from = wholes_[static_cast<std::size_t>(producer)];
    if (may_join && from.level < whole.level && (from.reduces || whole.reduces)) raise(producer, whole.level, joins);
  }
  std::vector<int> partners;
  for (const auto& [producer, may_join] : joins) {
    if (may_join && wholes_[static_cast<std::size_t>(producer)].level == whole.level) partners.push_back(producer);
  }
  bool agreed = true, reduces = whole.reduces;
  for (int partner : partners) {
    reduces |= wholes_[static_cast<std::size_t>(partner)].reduces;
    for (int other : partners) agreed &= agree(partner, other);
  }
  if (partners.empty()) return;
  if (!agreed || !reduces) {  // elementwise groups alone stay what they were
    ++whole.level;
    note_neighbours(number);
    return;
  }
  for (int partner : partners) {
    const int a = find(partner), b = find(number);
    if (a == b) continue;
    Whole &into = wholes_[static_cast<std::size_t>(a)], &from = wholes_[static_cast<std::size_t>(b)];
    unite(a, b);
    if (from.reduces && !into.reduces) into.space = from.space, into.dims = from.dims, into.axes = from.axes, into.reduces = true;
    into.level = whole.level;
  }
}

/// Groups with reductions on one level that read the same array.
void ReductionGroups::join_siblings() {
  for (int i = 0; i < graph_.value_limit(); ++i) {
    const auto value = static_cast<ValueId>(i);
    int first = -1;
    for (const Use& use : graph_.uses(value)) {
      if (use.node == NodeId::kNone) continue;
      const int group = find(whole_of_[static_cast<std::size_t>(use.node)]);
      const Whole& whole = wholes_[static_cast<std::size_t>(group)];
      if (!whole.reduces || shapes_.of(value) != whole.space) continue;
      if (first < 0) first = group;
      first = find(first);
      if (group == first || whole.level != wholes_[static_cast<std::size_t>(first)].level || !agree(first, group)) continue;
      unite(first, group);
    }
  }
}

}  // namespace damo
