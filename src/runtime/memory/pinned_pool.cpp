#include "runtime/memory/pinned_pool.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include <damo/error.hpp>

#include "runtime/backend.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/memory/memory_pool.hpp"

namespace damo {
namespace {

constexpr std::size_t kSmallest = 4096, kLargestPinned = std::size_t{1} << 62;

std::size_t block_bytes(std::size_t bytes) { return std::bit_ceil(std::max(bytes, kSmallest)); }

bool same(PinnedOptions a, PinnedOptions b) { return a.mapped == b.mapped && a.write_combined == b.write_combined; }

[[noreturn]] void fail(const Backend& backend, std::size_t bytes) {
  throw OutOfMemoryError("no " + bytes_text(bytes) + " of host memory for " + backend.name(),
                         "pinned memory stays in RAM: ask for less, or free what the process holds");
}

}  // namespace

void* PinnedPool::allocate(std::size_t bytes, PinnedOptions options) {
  if (bytes == 0) return nullptr;
  if (bytes > kLargestPinned) fail(backend_, bytes);
  const std::size_t size = block_bytes(bytes);
  void* memory = take_cached(size, options);
  if (memory == nullptr) {
    memory = backend_.allocate_pinned(size, options);
    if (memory == nullptr && statistics().cached_bytes > 0 && backend_.captures == 0) {
      free_cache();
      memory = backend_.allocate_pinned(size, options);
    }
    if (memory == nullptr) fail(backend_, bytes);
    const std::lock_guard lock(mutex_);
    ++statistics_.device_allocations;
  }
  const std::lock_guard lock(mutex_);
  ++statistics_.allocations;
  statistics_.in_use_bytes += size;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.in_use_bytes);
  return memory;
}

void* PinnedPool::take_cached(std::size_t bytes, PinnedOptions options) {
  Block taken{};
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(free_.begin(), free_.end(), [&](const Block& block) {
      return block.bytes == bytes && same(block.options, options) && is_ready(block);
    });
    if (found == free_.end()) return nullptr;
    taken = *found;
    free_.erase(found);
    statistics_.cached_bytes -= bytes;
  }
  if (taken.event != nullptr) backend_.destroy_event(taken.event);
  return taken.memory;
}

bool PinnedPool::is_ready(const Block& block) { return block.event == nullptr || backend_.is_done(block.event); }

/// Of all work that the device has been given. On the host all is done already.
void* PinnedPool::event_of_now() {
  if (backend_.kind() != DeviceKind::kCuda) return nullptr;
  backend_.join_streams(kAllStreams);
  void* const event = backend_.create_event({.timing = false});
  try {
    backend_.record(event, nullptr);
  } catch (...) {
    backend_.destroy_event(event);
    throw;
  }
  return event;
}

void PinnedPool::release(void* memory, std::size_t bytes, PinnedOptions options) noexcept {
  if (memory == nullptr) return;
  const std::size_t size = block_bytes(bytes);
  if (CaptureScope* capture = current_capture(backend_)) {
    if (capture->holds().hold_pinned(memory, bytes, options)) return;
  }
  const std::lock_guard lock(mutex_);
  statistics_.in_use_bytes -= size;
  Block block{memory, size, options, nullptr};
  try {
    block.event = event_of_now();
    free_.push_back(block);
    statistics_.cached_bytes += size;
  } catch (...) {  // a lost context, or no host memory: the driver waits for the device before it unpins
    drop(block);
  }
}

MemoryStatistics PinnedPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void PinnedPool::drop(const Block& block) noexcept {
  if (block.event != nullptr) backend_.destroy_event(block.event);
  backend_.release_pinned(block.memory);
}

void PinnedPool::free_cache() {
  std::vector<Block> taken;
  {
    const std::lock_guard lock(mutex_);
    taken.swap(free_);
    statistics_.cached_bytes = 0;
  }
  if (taken.empty()) return;
  const auto drop_all = [&] {
    for (const Block& block : taken) drop(block);
  };
  try {
    backend_.synchronize();
  } catch (...) {
    drop_all();
    throw;
  }
  drop_all();
}

void PinnedPool::forget() {
  const std::lock_guard lock(mutex_);
  free_.clear();
  statistics_.in_use_bytes = statistics_.cached_bytes = statistics_.peak_bytes = 0;
}

}  // namespace damo
