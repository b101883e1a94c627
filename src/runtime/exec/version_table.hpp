// VersionTable: what a thunk worked out from the layouts of its cells, for the last few that it met: versions come back
// with their layouts (Cell::version).
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <damo/thunk.hpp>
#include "runtime/exec/binding.hpp"

namespace damo {

template <class State>
class VersionTable {
 public:
  explicit VersionTable(std::vector<const Cell*> cells) : cells_(std::move(cells)) {}

  /// What was added for the cells' present versions; null if it is not kept.
  State* find() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (!fits(entries_[i])) continue;
      if (i > 0) std::rotate(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(i), entries_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      return &entries_.front().state;
    }
    return nullptr;
  }
  /// Drops the one last used longest ago if the table is full. The reference is good until the next add or find.
  State& add(State state) {
    if (entries_.size() == BindingTable::kMost) entries_.pop_back();
    std::vector<std::uint32_t> versions;
    for (const Cell* cell : cells_) versions.push_back(cell->version());
    entries_.insert(entries_.begin(), {std::move(versions), std::move(state)});
    return entries_.front().state;
  }

 private:
  struct Entry {
    std::vector<std::uint32_t> versions;
    State state;
  };
  bool fits(const Entry& entry) const {
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i]->version() != entry.versions[i]) return false;
    }
    return true;
  }
  std::vector<const Cell*> cells_;
  std::vector<Entry> entries_;  // last used first
};

}  // namespace damo
