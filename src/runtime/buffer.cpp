#include "runtime/buffer.hpp"

#include "runtime/backend.hpp"
#include "runtime/memory_pool.hpp"

namespace damo {

Buffer* Buffer::allocate(Backend& backend, std::size_t bytes, std::string_view wanted_by) {
  void* data = backend.pool().allocate(bytes, wanted_by);
  try {
    return new Buffer(backend, data, bytes, true, nullptr, nullptr);
  } catch (...) {
    backend.pool().release(data, bytes);
    throw;
  }
}

Buffer* Buffer::adopt(Backend& backend, void* data, std::size_t bytes, OnRelease on_release, void* context) {
  return new Buffer(backend, data, bytes, false, on_release, context);
}

void Buffer::destroy() noexcept {
  if (pooled_) backend_.pool().release(data_, bytes_);
  if (on_release_ != nullptr) on_release_(context_);
  delete this;
}

}  // namespace damo
