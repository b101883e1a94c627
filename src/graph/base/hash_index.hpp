// HashIndex: numbers found by the hash of what they stand for, in one array: for passes over graphs of a million nodes, where a hash map's
// memory, a piece an entry, costs more than all else.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace damo {

class HashIndex {
 public:
  explicit HashIndex(std::size_t expected) : slots_(std::bit_ceil(2 * expected + 16)) {}

  /// The number of this hash for which is_same(number) is true; else adds `number` and gives -1.
  template <class Same>
  int find_or_add(std::size_t hash, int number, Same is_same) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    const std::size_t mixed = hash * 0x9e3779b97f4a7c15u;
    for (std::size_t at = place(mixed);; at = (at + 1) & (slots_.size() - 1)) {
      Slot& slot = slots_[at];
      if (slot.number < 0) {
        slot = {high(mixed), number};
        ++count_;
        return -1;
      }
      if (slot.high == high(mixed) && is_same(slot.number)) return slot.number;
    }
  }

 private:
  struct Slot {
    std::uint32_t high = 0;  // bits of the mixed hash, which say the place too: numbers are fewer than 2^31
    int number = -1;
  };
  static std::uint32_t high(std::size_t mixed) { return static_cast<std::uint32_t>(mixed >> 32); }
  std::size_t place(std::size_t mixed) const { return mixed >> (64 - std::countr_zero(slots_.size())); }
  void grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number < 0) continue;
      std::size_t at = place(std::size_t{slot.high} << 32);
      while (slots_[at].number >= 0) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace damo
