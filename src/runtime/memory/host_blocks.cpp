#include "runtime/memory/host_blocks.hpp"

namespace damo {

void HostBlocks::add(void* block, std::size_t bytes) {
  note_use(block, bytes, bytes);
  const std::lock_guard lock(mutex_);
  blocks_[block] = bytes;
}

void HostBlocks::remove(void* block) noexcept {
  const std::lock_guard lock(mutex_);
  blocks_.erase(block);
}

std::vector<MemoryRange> HostBlocks::used() const {
  const std::lock_guard lock(mutex_);
  std::vector<MemoryRange> ranges;
  for (const auto& [block, bytes] : blocks_) {
    const std::size_t used = word(block, bytes).load(std::memory_order_relaxed);
    // More than the block has: a kernel that was not checked wrote over the word.
    if (used > 0) ranges.push_back({reinterpret_cast<std::uintptr_t>(block), used <= bytes ? used : bytes});
  }
  return ranges;
}

}  // namespace damo
