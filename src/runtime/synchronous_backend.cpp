#include "runtime/synchronous_backend.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <damo/error.hpp>

namespace damo {
namespace {

constexpr std::size_t kAlignment = 64, kHugePage = std::size_t{2} << 20;

std::size_t system_bytes(int pages) {
  const long count = sysconf(pages), bytes = sysconf(_SC_PAGESIZE);
  return count > 0 && bytes > 0 ? static_cast<std::size_t>(count) * static_cast<std::size_t>(bytes) : 0;
}

}  // namespace

void* SynchronousBackend::allocate(std::size_t bytes) {
  const bool is_huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = is_huge ? kHugePage : kAlignment;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment - HostBlocks::kTrailer) return nullptr;
  const std::size_t rounded = std::max((bytes + kAlignment - 1) / kAlignment * kAlignment, kAlignment);
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, rounded + HostBlocks::kTrailer) != 0) return nullptr;
  // The first write of a page costs a fault: with huge pages one in 512 is left, and filling new memory takes a fifth
  // of the time or less. Advice only, the system may refuse it.
  if (is_huge) madvise(memory, rounded, MADV_HUGEPAGE);
  try {
    blocks_.add(memory, rounded);
  } catch (...) {
    std::free(memory);
    throw;
  }
  return memory;
}

void SynchronousBackend::release(void* memory) noexcept {
  if (memory) blocks_.remove(memory);
  std::free(memory);
}

void SynchronousBackend::copy(void* to, const void* from, std::size_t bytes, CopyKind kind, void* stream) {
  if (is_copy_logged(stream, to, from, bytes, kind)) return;
  if (is_noted(stream, [=, this] { copy(to, from, bytes, kind, nullptr); })) return;
  if (bytes > 0) std::memmove(to, from, bytes);
}

void SynchronousBackend::fill(void* to, const void* element, std::size_t element_bytes, std::size_t count,
                              void* stream) {
  if (WorkLog* log = current_log(*this); log && stream == nullptr && log->fill(to, element, element_bytes, count)) return;
  std::uint64_t kept = 0;
  if (element_bytes <= sizeof kept) std::memcpy(&kept, element, element_bytes);
  if (is_noted(stream, [=, this] { fill(to, &kept, element_bytes, count, nullptr); })) return;
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

std::pair<std::string, std::size_t> SynchronousBackend::share(void* memory) {
  auto found = shared_.find(memory);
  if (found.first.empty()) {
    throw DeviceError("ipc_handle: this memory of " + name() + " is this process's own",
                      "make it with DeviceMemory::shareable(device, bytes)");
  }
  return found;
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
