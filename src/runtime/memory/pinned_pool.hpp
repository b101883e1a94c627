// PinnedPool: one device's host memory for copies. Pinning pages costs microseconds each, so blocks that are given up
// are kept, by size (powers of two, 4 KiB at least) and options. A block given up may still be read by a copy under
// way: an event is recorded then, behind the work of all streams, and the block is handed out again when that is done.
// Thread-safe. See tests/runtime/memory/pinned_pool_test.cpp.
#pragma once
#include <cstddef>
#include <vector>

#include <damo/device.hpp>

#include "runtime/memory/fork_safe_mutex.hpp"

namespace damo {

class PinnedPool {
 public:
  explicit PinnedPool(Backend& backend) : backend_(backend) {}
  PinnedPool(const PinnedPool&) = delete;
  PinnedPool& operator=(const PinnedPool&) = delete;
  /// As MemoryPool's: frees nothing.
  ~PinnedPool() = default;

  /// Null for 0 bytes. Throws OutOfMemoryError.
  void* allocate(std::size_t bytes, PinnedOptions options);
  /// bytes and options as they were asked for.
  void release(void* memory, std::size_t bytes, PinnedOptions options) noexcept;

  MemoryStatistics statistics() const;
  /// Waits for the device, then gives all kept blocks back.
  void free_cache();
  /// The device was reset: its pinned memory is gone.
  void forget();

 private:
  struct Block {
    void* memory;
    std::size_t bytes;
    PinnedOptions options;
    void* event;  // null: none was needed
  };
  bool is_ready(const Block& block);
  void* take_cached(std::size_t bytes, PinnedOptions options);
  void* event_of_now();
  void drop(const Block& block) noexcept;

  Backend& backend_;
  mutable ForkSafeMutex mutex_;
  std::vector<Block> free_;
  MemoryStatistics statistics_;
};

}  // namespace damo
