// ReductionGroups: the groups of fusion_groups.hpp, with reductions among them. A group with reductions goes over one
// space: every reduction in it takes the same axes of it, and its other members compute elements of the space or of the
// rows that the reductions leave. So softmax, written with max, exp, sum and a division, is one group. Scans make groups as reductions do, in one
// direction, and no reduction and no scan of it follows from a scan of it. Where rows are along the last axis, so that a kernel may hold them while it reduces them, scans are in groups with reductions, but for those across rows:
// cumsum(softmax(x)) is one group, of which a device makes one kernel or a few that read x again (Dialect::scans_rows).
//
// A group of rows may join across them too: a reduction over axes that are not its rows', as the gradient by a norm's weight, or a sum of columns beside one of rows. It is in the group if
//   - it is a plain join of one accumulator, without the numbers of elements
//   - it reads an element of the group, or an array that the group reads, in the group's space
//   - its result has neither the shape of the space nor that of a row, and no element of the group follows from it, as it is known when all rows are done
//   - the group's rows are along the last axis, where neighbours lie in memory as a rule; where a call's arrays lie otherwise the kernel is split (split_passes.hpp)
//   - it goes over the same axes as the other such reductions of the group; where that leaves batches of rows, as of channels that have weights of their own, each has kFewestJoined rows at least, so that
//     what a kernel holds of all batches is little beside its arrays
//
// A reduction over everything leaves one row, which one block, or one thread, would go through: what follows from it for each element is in its group where the row is short, or so long that a kernel
// goes through it each pass (split_passes.hpp) and the group reads one array. All extents must be known. Values are those of the ops either way, as of any group; sums, and what scans give, may be joined in another order.
//
// The groups of elementwise nodes stay as they are and are joined as wholes. The proof that no path leaves a group and comes back
// is that of fusion_groups.hpp: each whole has a level, which rises along every edge that is not inside a group. A whole joins
// those of its producers that are on its level if all of them agree; else it rises. A producer on a lower level rises to it first, and what follows from
// the producer above that, unless the whole reads some of it.
#pragma once
#include <cstdint>
#include <map>
#include <unordered_set>
#include <vector>

#include <damo/graph.hpp>
#include "ops/rewrites/fusion_record.hpp"
#include "ops/rewrites/symbolic_shapes.hpp"

namespace damo {

class KernelOp;

inline constexpr std::int64_t kFewestJoined = 8;
/// Whether a reduction over these axes joins so many elements, as far as extents are known.
bool joins_many(const Shape& dims, std::uint32_t axes);

class ReductionGroups {
 public:
  /// groups: of elementwise nodes. alone: reductions that stay kernels of their own.
  ReductionGroups(const FunctionGraph& graph, const std::vector<std::vector<NodeId>>& groups, const std::unordered_set<NodeId>& alone);
  /// All groups, those of elementwise nodes alone among them; nodes in topological order.
  const std::vector<std::vector<NodeId>>& groups() const { return groups_; }
  /// What was found against one group of two nodes, of which one reads the other.
  Apart apart(NodeId producer, NodeId reader) const { return record_.between(producer, reader); }

 private:
  /// In which direction a group scans.
  enum class Scans : std::uint8_t { kNone,
                                    kForward,
                                    kBackward };
  static Scans scans_of(const KernelOp& op);
  struct Whole;
  static bool scan_alike(const Whole& a, const Whole& b);
  struct Whole {
    std::vector<NodeId> nodes;
    int level = 0;
    int parent = -1;               // union-find
    int next = -1;                 // of the ring of its group's wholes
    Shape dims;                    // of the elements, as far as they are known
    std::vector<int> space;        // symbols of the elements' axes
    std::uint32_t axes = 0;        // that are reduced
    bool reduces = false, takes_part = false;
    bool may_go_across = false;    // a reduction that may join across the rows of a group
    std::uint32_t across = 0;      // at a root: axes that rows are joined across
    bool is_done = false;          // its group is found
    Scans scans = Scans::kNone;
    bool joins_rows = false;  // not each of its reductions scans
  };
  int find(int whole);
  void unite(int into, int from);
  bool raise(int group, int level, const std::map<int, bool>& others);
  Apart against(int a, int b);
  bool agree(int a, int b) { return against(a, b) == Apart::kNone; }
  Apart against(const Whole& from, const Whole& to, NodeId node, ValueId input) const;
  bool may_spread(const Whole& group) const;
  bool reads_one_array(const Whole& group) const;
  void note_neighbours(int whole);
  void join(int whole);
  bool is_plain_join(NodeId node) const;
  bool has_rows_for(const Whole& group, const Whole& whole) const;
  int group_beside(ValueId value, const Whole& whole);
  bool join_across(int whole);
  int producer_of(ValueId value) const;
  void join_siblings();

  const FunctionGraph& graph_;
  const std::vector<NodeId> order_;
  const SymbolicShapes shapes_;
  std::vector<Whole> wholes_;
  std::vector<std::vector<int>> readers_;  // by whole, one for each read
  std::vector<int> whole_of_;        // by node
  std::vector<bool> follows_scan_;   // by node
  FusionRecord record_;
  std::vector<std::vector<NodeId>> groups_;
};

}  // namespace damo
