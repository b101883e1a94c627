// Buffer: one allocation that arrays share, with its count of owners. Either memory of the device's pool, or a piece of the
// thread's workspace (workspace.hpp), which get it back with the last owner, or another's memory, whose owner is told then.
// Made with one owner. Thread-safe.
// See tests/runtime/array/array_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "runtime/backend.hpp"

namespace damo {

class MemoryPool;

class Buffer {
 public:
  /// Called once when the last owner is gone.
  using OnRelease = void (*)(void* context) noexcept;

  /// From the thread's workspace if there is one with room, else from the device's pool; 0 bytes give a Buffer of null data.
  /// Throws OutOfMemoryError.
  static Buffer* allocate(Backend& backend, std::size_t bytes, std::string_view wanted_by = {});
  /// Memory of another owner. on_release may be null.
  static Buffer* adopt(Backend& backend, void* data, std::size_t bytes, OnRelease on_release = nullptr,
                       void* context = nullptr);
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void retain() noexcept { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  /// One owner. With several threads: true stays true, as only the one owner could make another.
  bool is_unique() const noexcept { return owners_.load(std::memory_order_acquire) == 1; }
  int owners() const noexcept { return owners_.load(std::memory_order_relaxed); }

  /// The streams, besides the default one, whose copies and fills may still use the memory: Backend::stream_set. After
  /// the work was given. Kernels and graphs need no note, see Backend::streams_at_large.
  void note_use(StreamSet streams) noexcept {
    if (streams != 0) streams_.fetch_or(streams, std::memory_order_relaxed);
  }
  /// Before the default stream writes it for the only owner, who had it before: what other streams have to do with it
  /// comes first, as if it had gone to the pool and back.
  void order_reuse() noexcept {
    const StreamSet streams =
        streams_.load(std::memory_order_relaxed) | backend_.streams_at_large.load(std::memory_order_relaxed);
    if (streams != 0) [[unlikely]]
      join(streams);
  }

  Backend& backend() const { return backend_; }
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  /// From the pool or a workspace, not another's.
  bool is_own() const { return source_ != Source::kOther; }
  /// The device was reset since: the memory is gone.
  bool is_lost() const;

 private:
  enum class Source : std::uint8_t { kPool, kWorkspace, kOther };
  Buffer(Backend& backend, void* data, std::size_t bytes, Source source, OnRelease on_release, void* context);
  ~Buffer() = default;
  /// A Buffer has host memory that one before it had: MemoryPool::take_record.
  static void* operator new(std::size_t bytes, MemoryPool& pool);
  static void operator delete(void* record, MemoryPool& pool) noexcept;
  void destroy() noexcept;
  void join(StreamSet streams) noexcept;

  std::atomic<int> owners_ = 1;
  std::uint32_t generation_;
  std::atomic<StreamSet> streams_ = 0;
  Source source_;
  Backend& backend_;
  void* data_;
  std::size_t bytes_;
  OnRelease on_release_;
  void* context_;  // of a piece of a workspace that
};

/// One more owner of the buffer, for what holds anything alive.
std::shared_ptr<const void> share_of(Buffer* buffer);

}  // namespace damo
