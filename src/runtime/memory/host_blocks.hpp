// HostBlocks: the blocks that a back end on the host has allocated, and how much of each is in use. Behind a block lies a
// word with the bytes in use: a pool, which hands out blocks larger than was asked for, writes it with one store, and a
// checked kernel reads it to know where an array ends (cpu/launch_check.hpp).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "runtime/memory/fork_safe_mutex.hpp"
#include "runtime/memory/host_ranges.hpp"

namespace damo {

class HostBlocks {
 public:
  /// What a block needs beyond its bytes.
  static constexpr std::size_t kTrailer = 64;

  /// block_bytes: a multiple of 8. used 0: nobody has it.
  static void note_use(void* block, std::size_t block_bytes, std::size_t used) noexcept {
    word(block, block_bytes).store(used, std::memory_order_relaxed);
  }

  /// All of it in use.
  void add(void* block, std::size_t bytes);
  void remove(void* block) noexcept;
  /// The parts in use.
  std::vector<MemoryRange> used() const;

 private:
  static std::atomic_ref<std::size_t> word(void* block, std::size_t bytes) {
    return std::atomic_ref<std::size_t>(*reinterpret_cast<std::size_t*>(static_cast<std::byte*>(block) + bytes));
  }
  mutable ForkSafeMutex mutex_;
  std::map<void*, std::size_t> blocks_;
};

}  // namespace damo
