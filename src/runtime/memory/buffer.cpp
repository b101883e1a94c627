#include "runtime/memory/buffer.hpp"

#include "runtime/memory/host_ranges.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/workspace.hpp"

namespace damo {

Buffer::Buffer(Backend& backend, void* data, std::size_t bytes, Source source, OnRelease on_release, void* context)
    : generation_(backend.generation()),
      source_(source),
      backend_(backend),
      data_(data),
      bytes_(bytes),
      on_release_(on_release),
      context_(context) {}

void* Buffer::operator new(std::size_t bytes, MemoryPool& pool) { return pool.take_record(bytes); }
void Buffer::operator delete(void* record, MemoryPool& pool) noexcept { pool.keep_record(record); }

bool Buffer::is_lost() const { return generation_ != backend_.generation(); }

Buffer* Buffer::allocate(Backend& backend, std::size_t bytes, std::string_view wanted_by) {
  Workspace* const workspace = current_workspace(backend);
  if (void* data = workspace ? workspace->take(bytes) : nullptr) {
    try {
      return new (backend.pool()) Buffer(backend, data, bytes, Source::kWorkspace, nullptr, workspace);
    } catch (...) {
      workspace->give_back(data);
      throw;
    }
  }
  void* data = backend.pool().allocate(bytes, wanted_by);
  try {
    return new (backend.pool()) Buffer(backend, data, bytes, Source::kPool, nullptr, nullptr);
  } catch (...) {
    backend.pool().release(data, bytes);
    throw;
  }
}

Buffer* Buffer::adopt(Backend& backend, void* data, std::size_t bytes, OnRelease on_release, void* context) {
  auto* const buffer = new (backend.pool()) Buffer(backend, data, bytes, Source::kOther, on_release, context);
  try {
    if (backend.kind() != DeviceKind::kCuda) add_host_range(data, bytes);
  } catch (...) {
    buffer->~Buffer();
    operator delete(buffer, backend.pool());
    throw;
  }
  return buffer;
}

void Buffer::join(StreamSet streams) noexcept {
  streams_.store(0, std::memory_order_relaxed);
  backend_.join_streams(streams);
}

void Buffer::destroy() noexcept {
  if (source_ == Source::kPool && !is_lost()) backend_.pool().release(data_, bytes_, streams_.load(std::memory_order_relaxed));
  if (source_ == Source::kWorkspace) static_cast<Workspace*>(context_)->give_back(data_);
  if (source_ == Source::kOther && backend_.kind() != DeviceKind::kCuda) remove_host_range(data_, bytes_);
  if (on_release_ != nullptr) on_release_(context_);
  MemoryPool& pool = backend_.pool();
  this->~Buffer();
  operator delete(this, pool);
}

std::shared_ptr<const void> share_of(Buffer* buffer) {
  buffer->retain();
  return std::shared_ptr<const void>(buffer, [buffer](const void*) { buffer->release(); });
}

}  // namespace damo
