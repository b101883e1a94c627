// FusionRecord: why kernels that lie side by side in a graph are two, written down by the fuser where it decides and told by explain() and
// report(). By the nodes of the graph that it leaves; nodes that later passes make are not in it. See tests/ops/rewrites/fusion_record_test.cpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>

#include <damo/graph.hpp>

namespace damo {

/// Why a node and one that reads it are in kernels of their own.
enum class Apart : std::uint8_t {
  kNone,        ///< the fuser said nothing
  kCycle,       ///< a path from the one to the other leads through nodes outside: one kernel would wait for itself
  kShape,       ///< shapes differ, and the model says that computing the smaller one again for each element of the larger costs more than memory
  kReaders,     ///< shapes differ, and others read the smaller one too, which would be computed for each
  kTable,       ///< the one is read at places that the other computes, so it must be in memory
  kAxes,        ///< reductions over different axes or spaces
  kScan,        ///< a scan beside one in the other direction, or beside a reduction across rows or along other axes than the last, or a reduction or a scan of what follows from a scan
  kAcross,      ///< what is joined across rows is known when all rows are done
  kOneRow,      ///< a single long row would be the work of one block
  kNeighbours,  ///< the kernels that it could have joined do not fit together
  kInputs,
  kOutputs,
  kCost,       ///< of FusionLimits
  kRegisters,  ///< of FusionLimits: the model says that values would be spilled
  kNumbers     ///< numbers that would not fit beside the arrays among a launch's arguments
};

class FusionRecord {
 public:
  /// Of several reasons between the same two the first that is more than a cycle stays.
  void note(NodeId producer, NodeId reader, Apart why) {
    Apart& known = reasons_[key(producer, reader)];
    if (known <= Apart::kCycle) known = why;
  }
  Apart between(NodeId producer, NodeId reader) const {
    const auto found = reasons_.find(key(producer, reader));
    return found == reasons_.end() ? Apart::kNone : found->second;
  }
  /// What was said of a node is said of another one, which is in its place.
  void rename(const std::unordered_map<NodeId, NodeId>& nodes) {
    if (nodes.empty()) return;
    std::unordered_map<std::uint64_t, Apart> old;
    old.swap(reasons_);
    const auto now = [&](std::uint64_t number) {
      const auto found = nodes.find(static_cast<NodeId>(number));
      return found == nodes.end() ? static_cast<NodeId>(number) : found->second;
    };
    for (const auto& [edge, why] : old) reasons_.emplace(key(now(edge >> 32), now(edge & 0xffffffffu)), why);
  }
  /// For the graph's compact(): nodes[i], of ascending numbers, gets the number i; others are gone.
  void renumber(std::span<const NodeId> nodes) {
    std::unordered_map<std::uint64_t, Apart> old;
    old.swap(reasons_);
    const auto place = [&](std::uint64_t number) { return std::lower_bound(nodes.begin(), nodes.end(), static_cast<NodeId>(number)); };
    for (const auto& [edge, why] : old) {
      const auto producer = place(edge >> 32), reader = place(edge & 0xffffffffu);
      const bool are_there = producer != nodes.end() && reader != nodes.end() && key(*producer, *reader) == edge;
      if (are_there) reasons_.emplace(key(static_cast<NodeId>(producer - nodes.begin()), static_cast<NodeId>(reader - nodes.begin())), why);
    }
  }

 private:
  static std::uint64_t key(NodeId producer, NodeId reader) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(producer)) << 32 | static_cast<std::uint32_t>(reader); }
  std::unordered_map<std::uint64_t, Apart> reasons_;
};

}  // namespace damo
