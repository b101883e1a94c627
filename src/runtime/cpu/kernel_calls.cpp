#include "runtime/cpu/kernel_calls.hpp"

#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "runtime/cpu/check_calls.hpp"
#include "runtime/cpu/kernel_guard.hpp"

using damo::cpu_backend::KernelGuard;

namespace {

/// Before what a kernel's malloc() gives.
struct alignas(16) HeapHeader {
  std::uint64_t mark;
  std::uint64_t bytes;
};
constexpr std::uint64_t kLive = 0x6d61656820614443, kFreed = 0x6465657266204443;

}  // namespace

int damo_kernel_printf(const char* format, ...) {
  // To a buffer first: a fault while it is formatted must not keep the stream's lock.
  std::va_list list;
  va_start(list, format);
  char text[1024];
  const int length = std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (length < 0) return length;
  if (static_cast<std::size_t>(length) < sizeof text) {
    std::fwrite(text, 1, static_cast<std::size_t>(length), stdout);
    return length;
  }
  va_start(list, format);
  const std::size_t bytes = static_cast<std::size_t>(length);
  const std::unique_ptr<char[]> longer(new (std::nothrow) char[bytes + 1]);
  if (longer) std::vsnprintf(longer.get(), bytes + 1, format, list);
  va_end(list);
  std::fwrite(longer ? longer.get() : text, 1, longer ? bytes : sizeof text - 1, stdout);
  return length;
}

void* damo_kernel_malloc(std::size_t bytes) {
  if (bytes > SIZE_MAX - sizeof(HeapHeader)) return nullptr;
  auto* const header = static_cast<HeapHeader*>(std::malloc(sizeof(HeapHeader) + bytes));
  if (!header) return nullptr;
  *header = {kLive, bytes};
  try {
    damo::cpu_backend::note_kernel_memory(header + 1, bytes);
  } catch (const std::bad_alloc&) {
    std::free(header);
    return nullptr;
  }
  return header + 1;
}

void damo_kernel_free(void* memory) {
  if (!memory) return;
  auto* const header = static_cast<HeapHeader*>(memory) - 1;
  if (header->mark != kLive) {
    KernelGuard::leave(header->mark == kFreed ? "free() of memory that was freed before" : "free() of an address that malloc() did not give",
                       "free each address that malloc() gave once");
  }
  header->mark = kFreed;
  damo::cpu_backend::forget_kernel_memory(memory);
  std::free(header);
}

long long damo_kernel_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void damo_kernel_trap() { KernelGuard::leave("__trap() was called", "look for the condition under which the kernel calls it"); }

void damo_kernel_assert(const char* condition, const char* file, const char* function, unsigned line) {
  KernelGuard::leave(std::string(file) + ":" + std::to_string(line) + ": " + function + ": assertion '" + condition + "' failed", {});
}
