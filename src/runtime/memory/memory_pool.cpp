#include "runtime/memory/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <new>
#include <string>
#include <utility>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/backend.hpp"
#include "runtime/stream/capture.hpp"
#include "runtime/stream/work_log.hpp"
#include "runtime/memory/host_blocks.hpp"

namespace damo {
namespace {

constexpr std::size_t kStep = 512, kFineLimit = std::size_t{1} << 20, kFineClasses = kFineLimit / kStep;
constexpr int kFineLimitLog2 = 20, kLargestLog2 = 61;
constexpr std::size_t kLargest = std::size_t{1} << (kLargestLog2 + 1);  // keeps sums of sizes below 2^64
constexpr std::size_t kClasses = kFineClasses + std::size_t{8} * (kLargestLog2 - kFineLimitLog2 + 1);
constexpr std::size_t kSmallCache = std::size_t{64} << 20;
constexpr int kMostRecords = 1024;  // of Buffers that are gone

}  // namespace

MemoryPool::MemoryPool(Backend& backend) : backend_(backend), free_(kClasses), poison_(is_switched_on("DAMO_POISON")) {}

MemoryPool::SizeClass MemoryPool::size_class(std::size_t bytes) {
  const std::size_t last = bytes - 1;
  if (bytes <= kFineLimit) return {last / kStep, (last / kStep + 1) * kStep};
  const int log2 = std::bit_width(last) - 1;
  const std::size_t eighth = last >> (log2 - 3);  // 8 ... 15
  return {kFineClasses + 8 * static_cast<std::size_t>(log2 - kFineLimitLog2) + (eighth - 8), (eighth + 1)
                                                                                                 << (log2 - 3)};
}

void* MemoryPool::allocate(std::size_t bytes, std::string_view wanted_by) {
  if (bytes == 0) return nullptr;
  if (bytes > kLargest) fail(bytes, wanted_by, false);
  const SizeClass size = size_class(bytes);
  WorkLog* const work = current_log(backend_);
  void* memory = work ? work->take(size.bytes) : nullptr;
  const bool is_kept = memory != nullptr;
  bool poison, beyond_limit = false;
  {
    const std::lock_guard lock(mutex_);
    poison = poison_;
    const std::size_t limit = is_kept ? 0 : statistics_.limit_bytes;
    beyond_limit = limit != 0 && statistics_.in_use_bytes + size.bytes > limit;
    if (!beyond_limit && !is_kept) {
      memory = take_cached(size);
      count_in_use(size.bytes);  // before the device is asked, so that the limit holds among threads
    }
  }
  if (beyond_limit) fail(bytes, wanted_by, true);
  const bool is_new = memory == nullptr;
  if (is_new) memory = allocate_anew(size, bytes, wanted_by);
  try {
    if (backend_.notes_use) HostBlocks::note_use(memory, size.bytes, bytes);
    const bool fills = poison && current_capture(backend_) == nullptr;  // on the default stream, which a capture excludes
    if (fills) {
      const unsigned char byte = 0xFF;
      backend_.fill(memory, &byte, 1, size.bytes, nullptr);
    }
    if (!is_new || fills) backend_.fork_streams();
    if (work && !is_kept) work->note_allocated(memory, size.bytes);
  } catch (...) {
    release(memory, bytes);
    throw;
  }
  return memory;
}

void* MemoryPool::take_cached(SizeClass size) {
  std::vector<void*>& blocks = free_[size.index];
  if (blocks.empty()) return nullptr;
  void* memory = blocks.back();  // the last one released: its lines may still be in a cache
  blocks.pop_back();
  statistics_.cached_bytes -= size.bytes;
  return memory;
}

void MemoryPool::count_in_use(std::size_t bytes) {
  ++statistics_.allocations;
  statistics_.in_use_bytes += bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.in_use_bytes);
  most_in_use_ = std::max(most_in_use_, statistics_.in_use_bytes);
}

void* MemoryPool::allocate_anew(SizeClass size, std::size_t asked, std::string_view wanted_by) {
  const auto give_up = [&] {
    const std::lock_guard lock(mutex_);
    --statistics_.allocations;
    statistics_.in_use_bytes -= size.bytes;
  };
  try {
    bool outgrown;
    {
      const std::lock_guard lock(mutex_);
      ++statistics_.device_allocations;
      const std::size_t limit = statistics_.limit_bytes, cached = statistics_.cached_bytes;
      outgrown = (limit != 0 && statistics_.in_use_bytes + cached > limit) || cached > 2 * most_in_use_ + kSmallCache;
    }
    if (outgrown && backend_.captures == 0) free_cache();  // which waits for the device, and a capture forbids that
    if (void* memory = backend_.allocate(size.bytes)) return memory;
    if (const std::size_t cached = statistics().cached_bytes; cached > 0 && backend_.captures == 0) {
      log(LogLevel::kInfo, backend_.name() + ": out of memory, " + bytes_text(cached) +
                               " of cached memory given back to find " + bytes_text(size.bytes));
      free_cache();
      if (void* memory = backend_.allocate(size.bytes)) return memory;
    }
  } catch (...) {
    give_up();
    throw;
  }
  give_up();
  fail(asked, wanted_by, false);
}

void MemoryPool::release(void* memory, std::size_t bytes, StreamSet used_by) noexcept {
  if (memory == nullptr) return;
  const SizeClass size = size_class(bytes);
  if (WorkLog* work = current_log(backend_); work && work->keep(memory, bytes, size.bytes, used_by)) return;
  if (CaptureScope* capture = current_capture(backend_)) {
    if (capture->holds().hold_block(memory, bytes)) return;
  }
  if (backend_.notes_use) HostBlocks::note_use(memory, size.bytes, 0);
  if (const StreamSet streams = used_by | backend_.streams_at_large.load()) backend_.join_streams(streams);
  try {
    const std::lock_guard lock(mutex_);
    statistics_.in_use_bytes -= size.bytes;
    free_[size.index].push_back(memory);
    statistics_.cached_bytes += size.bytes;
  } catch (...) {  // no host memory for the list
    try {
      backend_.synchronize();
    } catch (...) {  // a failed kernel is reported by whoever waits for it next
    }
    backend_.release(memory);
  }
}

MemoryStatistics MemoryPool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void MemoryPool::reset_peak() {
  const std::lock_guard lock(mutex_);
  statistics_.peak_bytes = statistics_.in_use_bytes;
}

void* MemoryPool::take_record(std::size_t bytes) {
  {
    const std::lock_guard lock(mutex_);
    if (Record* const record = records_) {
      records_ = record->next;
      --record_count_;
      return record;
    }
  }
  return ::operator new(bytes);
}

void MemoryPool::keep_record(void* record) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (record_count_ < kMostRecords) {
      records_ = new (record) Record{records_};
      ++record_count_;
      return;
    }
  }
  ::operator delete(record);
}

void MemoryPool::free_records() noexcept {
  Record* record = nullptr;
  {
    const std::lock_guard lock(mutex_);
    record = std::exchange(records_, nullptr);
    record_count_ = 0;
  }
  while (record) ::operator delete(std::exchange(record, record->next));
}

void MemoryPool::free_cache() {
  free_records();
  std::vector<std::vector<void*>> taken(kClasses);
  {
    const std::lock_guard lock(mutex_);
    if (statistics_.cached_bytes == 0) return;
    taken.swap(free_);
    statistics_.cached_bytes = 0;
  }
  const auto release_all = [&] {
    for (const std::vector<void*>& blocks : taken) {
      for (void* memory : blocks) backend_.release(memory);
    }
  };
  try {
    backend_.synchronize();  // earlier work, on any stream, may still use the blocks
  } catch (...) {
    release_all();
    throw;
  }
  release_all();
}

void MemoryPool::forget() {
  const std::lock_guard lock(mutex_);
  for (std::vector<void*>& blocks : free_) blocks.clear();
  statistics_.in_use_bytes = statistics_.cached_bytes = statistics_.peak_bytes = 0;
  most_in_use_ = 0;
}

void MemoryPool::set_limit(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  statistics_.limit_bytes = bytes;
}

void MemoryPool::set_poison(bool poison) {
  const std::lock_guard lock(mutex_);
  poison_ = poison;
}

void MemoryPool::fail(std::size_t asked, std::string_view wanted_by, bool beyond_limit) const {
  const MemoryStatistics now = statistics();
  std::string message = backend_.name() + (beyond_limit ? ": memory limit reached: " : ": out of memory: ");
  message += bytes_text(asked) + " asked for";
  if (!wanted_by.empty()) message += " by " + std::string(wanted_by);
  message += "; " + bytes_text(now.in_use_bytes) + " in use by arrays, " + bytes_text(now.cached_bytes) + " cached, ";
  message += now.limit_bytes == 0 ? "no limit set" : "limit " + bytes_text(now.limit_bytes);
  if (!beyond_limit) {
    const DeviceProperties device = backend_.properties();
    message +=
        "; the device has " + bytes_text(device.memory_bytes) + ", " + bytes_text(device.free_memory_bytes) + " free";
  }
  throw OutOfMemoryError(message, beyond_limit
                                      ? "let go of arrays, or raise the limit with Device::set_memory_limit"
                                      : "let go of arrays, compute in smaller batches, or close other programs "
                                        "that use the device");
}

std::string bytes_text(std::size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  int unit = 0;
  for (; value >= 1024 && unit < 5; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, "%.2f %s", value, units[unit]);
  return text;
}

}  // namespace damo
