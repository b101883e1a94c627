// operator new and delete of this program, the C++ library's and the compiler's included: a point each, and a count of
// what armed threads hold. In front of each block stands what was asked for, so that freeing can tell.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "faults/injection.hpp"

namespace damo::faults {
namespace {

struct alignas(16) Head {
  std::size_t bytes;
  std::uint32_t distance;  // from what malloc gave
  bool is_counted;
};
static_assert(sizeof(Head) == 16);

std::atomic<long> held_blocks = 0, held_bytes = 0;

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (Injection::here(Kind::kAllocation, "operator new")) return nullptr;
  const std::size_t distance = std::max(sizeof(Head), alignment);
  void* const memory = alignment <= sizeof(Head) ? std::malloc(bytes + distance) : std::aligned_alloc(alignment, (bytes + distance + alignment - 1) / alignment * alignment);
  if (!memory) return nullptr;
  std::byte* const block = static_cast<std::byte*>(memory) + distance;
  const Head head{bytes, static_cast<std::uint32_t>(distance), is_armed()};
  new (block - sizeof(Head)) Head(head);
  if (head.is_counted) {
    ++held_blocks;
    held_bytes += static_cast<long>(bytes);
  }
  return block;
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* const memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

void release(void* block) noexcept {
  if (!block) return;
  std::byte* const begin = static_cast<std::byte*>(block);
  const Head head = *reinterpret_cast<const Head*>(begin - sizeof(Head));
  if (head.is_counted) {
    --held_blocks;
    held_bytes -= static_cast<long>(head.bytes);
  }
  std::free(begin - head.distance);
}

}  // namespace

HeldMemory held_memory() noexcept { return {held_blocks, held_bytes}; }

}  // namespace damo::faults

using damo::faults::allocate;
using damo::faults::allocate_or_throw;
using damo::faults::release;

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment) { return allocate_or_throw(bytes, static_cast<std::size_t>(alignment)); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, 1); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return allocate(bytes, static_cast<std::size_t>(alignment)); }
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept { return allocate(bytes, static_cast<std::size_t>(alignment)); }
void operator delete(void* block) noexcept { release(block); }
void operator delete[](void* block) noexcept { release(block); }
void operator delete(void* block, std::size_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t) noexcept { release(block); }
void operator delete(void* block, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept { release(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { release(block); }
void operator delete(void* block, std::align_val_t, const std::nothrow_t&) noexcept { release(block); }
void operator delete[](void* block, std::align_val_t, const std::nothrow_t&) noexcept { release(block); }
