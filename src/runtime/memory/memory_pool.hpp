// MemoryPool: one device's memory for arrays. Memory that an array gives up is kept and handed to the next request of
// its size class, so a program that repeats its shapes asks the device for nothing.
//
// Streams: released memory may be handed out at once, while the device still works on it. The next user's work comes
// after that: what the streams that may use a block (Buffer::note_use, Backend::streams_at_large) had to do when it was
// released is waited for by the default stream, and what the default stream has to do when a block is handed out again
// is waited for by the other streams. That costs a few microseconds a block, and only while there are other streams.
//
// Captures: a block that a thread releases while it captures a stream goes to the graph (capture.hpp), which gives it
// back when it is destroyed.
//
// Logs: a block that a thread releases while its work goes to a WorkLog (work_log.hpp) stays there until the device has that
// work.
//
// Size classes: steps of 512 bytes up to 1 MiB, then eight to a power of two, so at most an eighth is wasted. A block
// serves its own class only and is never split: a function asks for the same sizes at each call, and whole blocks can
// always go back to the device. They go back when the device has no memory left, when a limit is near, and when the
// cache outgrows twice what was ever in use. Statistics and limit count bytes of size classes.
// Thread-safe. The backend is called outside the lock. See tests/runtime/memory/memory_pool_test.cpp.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <damo/device.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/fork_safe_mutex.hpp"

namespace damo {

class MemoryPool {
 public:
  /// DAMO_POISON=1 in the environment turns poison on.
  explicit MemoryPool(Backend& backend);
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  /// Frees nothing of the device's: ~Backend runs it, when the device's functions are gone. A back end that is destroyed before the
  /// process ends calls free_cache() in its own destructor.
  ~MemoryPool() { free_records(); }

  /// Contents are arbitrary; null for 0 bytes. wanted_by names the caller in the error: an op, an array.
  /// Throws OutOfMemoryError when the device has none left even without the cache, or beyond the limit.
  void* allocate(std::size_t bytes, std::string_view wanted_by = {});
  /// bytes as they were asked for; used_by: streams whose copies and fills use the memory.
  void release(void* memory, std::size_t bytes, StreamSet used_by = kAllStreams) noexcept;

  MemoryStatistics statistics() const;
  void reset_peak();
  /// The device was reset: its memory is gone. Blocks that are in use are never to be released.
  void forget();
  /// Waits for the device, then gives all cached memory back to it. Throws DeviceError if an earlier kernel failed.
  void free_cache();
  /// Host memory for a Buffer, which one that is gone had if there is such: a device's Buffers come and go with its blocks. Throws std::bad_alloc.
  void* take_record(std::size_t bytes);
  /// Of what take_record gave, always with the same bytes.
  void keep_record(void* record) noexcept;
  /// 0: none.
  void set_limit(std::size_t bytes);
  /// Fills what allocate() gives with 0xFF bytes (floats: NaN), so that a kernel that reads old contents shows.
  void set_poison(bool poison);

 private:
  struct SizeClass {
    std::size_t index, bytes;
  };
  static SizeClass size_class(std::size_t bytes);
  void* take_cached(SizeClass size);
  void* allocate_anew(SizeClass size, std::size_t asked, std::string_view wanted_by);
  void count_in_use(std::size_t bytes);
  void free_records() noexcept;
  [[noreturn]] void fail(std::size_t asked, std::string_view wanted_by, bool beyond_limit) const;

  Backend& backend_;
  mutable ForkSafeMutex mutex_;
  std::vector<std::vector<void*>> free_;  // by size class
  MemoryStatistics statistics_;
  struct Record {
    Record* next;
  };
  Record* records_ = nullptr;  // of no Buffer now
  int record_count_ = 0;
  std::size_t most_in_use_ = 0;  // as peak_bytes, but reset_peak leaves it
  bool poison_ = false;
};

/// "512 B", "1.50 MiB".
std::string bytes_text(std::size_t bytes);

}  // namespace damo
