#include "runtime/cpu/kernel_calls.hpp"

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "runtime/cpu/check_calls.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/memory/fork_safe_mutex.hpp"

using damo::cpu_backend::KernelGuard;
using damo::cpu_backend::LaunchReport;

namespace {

/// The number of the launch that this thread runs for, drawn at its first allocation; 0 outside of one.
std::uint64_t number_of_launch() {
  static std::atomic<std::uint64_t> last = 0;
  LaunchReport* const report = KernelGuard::report();
  if (!report) return 0;
  std::uint64_t number = report->heap_number;
  if (number != 0) return number;
  const std::uint64_t mine = ++last;
  return report->heap_number.compare_exchange_strong(number, mine) ? mine : number;
}

/// What kernels' malloc() gave and free() has not got yet. In parts by address, so that the threads of a launch seldom meet.
class KernelHeap {
 public:
  /// Throws std::bad_alloc.
  void add(void* memory) {
    const std::uint64_t launch = number_of_launch();
    Part& part = of(memory);
    const std::lock_guard guard(part.lock);
    part.live.emplace(memory, launch);
  }
  /// False: it is not there.
  bool take(void* memory) {
    Part& part = of(memory);
    const std::lock_guard guard(part.lock);
    return part.live.erase(memory) != 0;
  }
  /// What a launch has of it, which is not there any more. Throws std::bad_alloc.
  std::vector<void*> take_all_of(std::uint64_t launch) {
    std::vector<void*> taken;
    for (Part& part : parts_) {
      const std::lock_guard guard(part.lock);
      for (const auto& [memory, owner] : part.live) {
        if (owner == launch) taken.push_back(memory);
      }
      std::erase_if(part.live, [&](const auto& entry) { return entry.second == launch; });
    }
    return taken;
  }
  static KernelHeap& instance() {
    static KernelHeap* const heap = new KernelHeap;  // kernels may run until the process ends
    return *heap;
  }

 private:
  struct Part {
    damo::ForkSafeMutex lock;
    std::unordered_map<void*, std::uint64_t> live;  // the launch that asked for it
  };
  Part& of(void* memory) { return parts_[reinterpret_cast<std::uintptr_t>(memory) / 16 * 0x9e3779b97f4a7c15u >> 58]; }
  Part parts_[64];
};

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
  void* const memory = std::malloc(bytes);
  if (!memory) return nullptr;
  try {
    KernelHeap::instance().add(memory);
    damo::cpu_backend::note_kernel_memory(memory, bytes);
  } catch (const std::bad_alloc&) {
    KernelHeap::instance().take(memory);
    std::free(memory);
    return nullptr;
  }
  return memory;
}

void damo_kernel_free(void* memory) {
  if (!memory) return;
  if (!KernelHeap::instance().take(memory)) {
    KernelGuard::leave("free() of an address that malloc() did not give, or that was freed before", "free each address that malloc() gave once");
  }
  damo::cpu_backend::forget_kernel_memory(memory);
  std::free(memory);
}

void damo::cpu_backend::release_kernel_memory(const LaunchReport& report) {
  if (report.heap_number == 0) return;
  for (void* const memory : KernelHeap::instance().take_all_of(report.heap_number)) {
    forget_kernel_memory(memory);
    std::free(memory);
  }
}

long long damo_kernel_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void damo_kernel_trap() { KernelGuard::leave("__trap() was called", "look for the condition under which the kernel calls it"); }

void damo_wait_for(const int* flag) {
  const LaunchReport* report = KernelGuard::report();
  for (int i = 0; __atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0; ++i) {
    if (report && report->failed()) KernelGuard::leave();
    if (i >= 1000) std::this_thread::yield();  // the other thread may be waiting for this one's processor
  }
}

void damo_kernel_assert(const char* condition, const char* file, const char* function, unsigned line) {
  KernelGuard::leave(std::string(file) + ":" + std::to_string(line) + ": " + function + ": assertion '" + condition + "' failed", {});
}

