// Host memory that kernels may touch although no pool of a device holds it: what Array::borrow, DLPack or In, Out and
// InOut bring. Only checked kernels ask (cpu/launch_check.hpp). Thread-safe.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace damo {

struct MemoryRange {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
  std::uintptr_t end() const { return begin + bytes; }
};

/// The same range may be added several times; it is known until it was removed as often.
void add_host_range(const void* memory, std::size_t bytes);
void remove_host_range(const void* memory, std::size_t bytes) noexcept;
std::vector<MemoryRange> host_ranges();

/// A range for as long as this object lives.
class KnownHostRange {
 public:
  KnownHostRange(const void* memory, std::size_t bytes) : memory_(memory), bytes_(bytes) { add_host_range(memory, bytes); }
  KnownHostRange(KnownHostRange&& other) noexcept : memory_(other.memory_), bytes_(other.bytes_) { other.memory_ = nullptr; }
  KnownHostRange& operator=(KnownHostRange&&) = delete;
  ~KnownHostRange() {
    if (memory_) remove_host_range(memory_, bytes_);
  }

 private:
  const void* memory_;
  std::size_t bytes_;
};

}  // namespace damo
