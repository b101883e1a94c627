#include "runtime/synchronous_backend.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <damo/error.hpp>

namespace damo {
namespace {

constexpr std::size_t kAlignment = 64, kHugePage = std::size_t{2} << 20;

/// Nanoseconds of the steady clock; 0: not recorded. Atomic, because two threads may share an event.
using Stamp = std::atomic<std::int64_t>;

std::int64_t recorded(void* event) {
  const std::int64_t stamp = *static_cast<Stamp*>(event);
  if (stamp == 0) throw DeviceError("an event was never recorded", "call record() on both events first");
  return stamp;
}

std::size_t system_bytes(int pages) {
  const long count = sysconf(pages), bytes = sysconf(_SC_PAGESIZE);
  return count > 0 && bytes > 0 ? static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes) : 0;
}

}  // namespace

void* SynchronousBackend::allocate(std::size_t bytes) {
  const bool is_huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = is_huge ? kHugePage : kAlignment;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  const std::size_t rounded = std::max((bytes + alignment - 1) / alignment * alignment, alignment);
  void* const memory = std::aligned_alloc(alignment, rounded);
  // The first write of a page costs a fault: with huge pages one in 512 is left, and filling new memory takes a fifth
  // of the time or less. Advice only, the system may refuse it.
  if (memory && is_huge) madvise(memory, rounded, MADV_HUGEPAGE);
  return memory;
}

void SynchronousBackend::release(void* memory) noexcept { std::free(memory); }

void SynchronousBackend::copy(void* to, const void* from, std::size_t bytes, CopyKind, void*) {
  if (bytes > 0) std::memmove(to, from, bytes);
}

void SynchronousBackend::fill(void* to, const void* element, std::size_t element_bytes, std::size_t count, void*) {
  const auto repeat = [&]<class T>(T value) {
    std::memcpy(&value, element, sizeof value);
    auto* bytes = static_cast<std::byte*>(to);
    if (reinterpret_cast<std::uintptr_t>(to) % alignof(T) == 0) {
      std::fill_n(static_cast<T*>(to), count, value);
    } else {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes + i * sizeof value, &value, sizeof value);
    }
  };
  switch (element_bytes) {
    case 1:
      return repeat(std::uint8_t{});
    case 2:
      return repeat(std::uint16_t{});
    case 4:
      return repeat(std::uint32_t{});
    case 8:
      return repeat(std::uint64_t{});
    default:
      throw InternalError("fill of elements of " + std::to_string(element_bytes) + " bytes");
  }
}

void SynchronousBackend::copy_peer(void* to, Backend&, const void* from, std::size_t bytes, void* stream) {
  copy(to, from, bytes, CopyKind::kDeviceToDevice, stream);
}

void* SynchronousBackend::create_stream() { return nullptr; }  // Device documents it: null on the CPU
void SynchronousBackend::destroy_stream(void*) noexcept {}

void* SynchronousBackend::create_event() { return new Stamp(0); }
void SynchronousBackend::destroy_event(void* event) noexcept { delete static_cast<Stamp*>(event); }

void SynchronousBackend::record(void* event, void*) {
  *static_cast<Stamp*>(event) = std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double SynchronousBackend::milliseconds(void* from, void* to) {
  const std::int64_t begin = recorded(from);
  return static_cast<double>(recorded(to) - begin) * 1e-6;
}

DeviceProperties SynchronousBackend::host_properties() const {
  DeviceProperties properties;
  properties.memory_bytes = system_bytes(_SC_PHYS_PAGES);
  properties.free_memory_bytes = system_bytes(_SC_AVPHYS_PAGES);
  // CUDA's own limits, and the shared memory of a current GPU: a launch that runs here runs there.
  properties.max_threads_per_block = 1024;
  const std::int64_t grid[] = {std::numeric_limits<std::int32_t>::max(), 65535, 65535}, block[] = {1024, 1024, 64};
  std::copy_n(grid, 3, properties.max_grid);
  std::copy_n(block, 3, properties.max_block);
  properties.max_shared_bytes = std::size_t{227} << 10;
  return properties;
}

}  // namespace damo
