// WorkOrder: which items of a log must wait for which, so that a device may run the others side by side.
//
// Condition: an item may run beside another one, or change places with it, only if no byte that one of them may write is read or written by the
// other. What an item may touch is known where its step says so (WorkLog::begin_step); an item of a step that does not say it waits for all
// before it, and all after it wait for it. Items of one step stay in their order, unless whoever asked for them says that none of them touches what another
// one writes (WorkLog::note_apart). Nothing else orders work on a device: host memory that a step
// reads was filled before the log began, and what it reports of its data (DataReport) is taken in any order.
//
// The waits follow from addresses of one call. In another call of the same sequence addresses may differ and touch each other otherwise:
// keeps_order() tells whether they do. Held against the log's own order by HostReplay, which runs items in orders as far from it as their waits let it
// (tests/function/replay_test.cpp, tests/runtime/stream/work_order_test.cpp).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace damo {

class WorkLog;

struct WorkOrder {
  /// Logs with more items keep their order.
  static constexpr std::size_t kMostItems = 8192;
  /// Steps with more items keep their order.
  static constexpr std::size_t kMostApart = 16;

  explicit WorkOrder(const WorkLog& log);

  /// By item: those that it waits for, none of which waits for another one of them.
  std::vector<std::vector<std::uint32_t>> waits;
  /// By item: the number of items on the longest way from wait to wait that ends with it.
  std::vector<std::size_t> levels() const;
  /// The greatest level.
  std::size_t depth() const;
  /// Lets at most so many items, at least 1, run at the same time: the items become so many chains, each of whose items comes after the one before it.
  /// Where that does not follow from the waits an item waits for the chain that has waited longest. Takes time and memory of the square of the items, at most 8 MiB.
  void narrow(std::size_t chains);
};

/// Whether the other log's order is right for a log of the same items: all that touched, or did not, does so in the other, or the other's items wait for all before them.
bool keeps_order(const WorkLog& log, const WorkLog& other);

}  // namespace damo
