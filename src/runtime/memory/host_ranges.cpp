#include "runtime/memory/host_ranges.hpp"

#include <map>
#include <mutex>

namespace damo {
namespace {

struct RangeRegistry {
  std::mutex mutex;
  std::multimap<std::uintptr_t, std::size_t> ranges;
};

RangeRegistry& registry() {
  static RangeRegistry* const registry = new RangeRegistry;  // arrays may outlive every static
  return *registry;
}

}  // namespace

void add_host_range(const void* memory, std::size_t bytes) {
  if (!memory || bytes == 0) return;
  const std::lock_guard lock(registry().mutex);
  registry().ranges.emplace(reinterpret_cast<std::uintptr_t>(memory), bytes);
}

void remove_host_range(const void* memory, std::size_t bytes) noexcept {
  if (!memory || bytes == 0) return;
  const std::lock_guard lock(registry().mutex);
  auto [first, last] = registry().ranges.equal_range(reinterpret_cast<std::uintptr_t>(memory));
  for (; first != last; ++first) {
    if (first->second != bytes) continue;
    registry().ranges.erase(first);
    return;
  }
}

std::vector<MemoryRange> host_ranges() {
  const std::lock_guard lock(registry().mutex);
  std::vector<MemoryRange> ranges;
  for (const auto& [begin, bytes] : registry().ranges) ranges.push_back({begin, bytes});
  return ranges;
}

}  // namespace damo
