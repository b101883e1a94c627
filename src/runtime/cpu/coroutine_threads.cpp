#include "runtime/cpu/coroutine_threads.hpp"

namespace damo::cpu_backend {

CoroutineThreads::Arena& CoroutineThreads::arena() {
  thread_local Arena arena;
  return arena;
}

std::vector<void*>& CoroutineThreads::handles() {
  thread_local std::vector<void*> handles;
  return handles;
}

// All frames of a kernel are of one size, so the first thread's tells how much the block needs.
void* CoroutineThreads::memory(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  Arena& arena = CoroutineThreads::arena();
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (arena.chunks.empty() || arena.used + bytes > arena.capacity) {
    if (arena.used == 0) arena.chunks.clear();
    const std::size_t capacity = bytes * arena.count + kAlignment;
    arena.chunks.push_back(std::make_unique_for_overwrite<std::byte[]>(capacity + kAlignment));  // if it throws all is as it was
    arena.capacity = capacity;
    arena.used = 0;
  }
  const auto base = reinterpret_cast<std::uintptr_t>(arena.chunks.back().get());
  const std::uintptr_t begin = (base + kAlignment - 1) / kAlignment * kAlignment + arena.used;
  arena.used += bytes;
  return reinterpret_cast<void*>(begin);
}

}  // namespace damo::cpu_backend
