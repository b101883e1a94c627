// What a DeviceMemory and the DevicePointers into it share.
#pragma once
#include <atomic>
#include <cstddef>

#include <damo/error.hpp>
#include <damo/memory.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/buffer.hpp"

namespace damo {

struct DevicePointer::State {
  /// Takes over one share of the buffer, also where it throws.
  static std::shared_ptr<State> of(Buffer* buffer) {
    try {
      return std::make_shared<State>(buffer);
    } catch (...) {
      buffer->release();
      throw;
    }
  }
  explicit State(Buffer* buffer) : backend(buffer->backend()), buffer(buffer), bytes(buffer->bytes()) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  Backend& backend;
  Buffer* buffer;  // null once it is freed
  std::size_t bytes;
  SourceLine freed_at;
  std::atomic<bool> is_freed = false;
};

}  // namespace damo
