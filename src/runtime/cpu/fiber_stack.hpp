// FiberStack: a stack as the sanitizers know it. A thread that goes on on another stack tells them, before and after, or
// they take the other's frames for damage (address) or for calls that never return (thread). Nothing in other builds.
#pragma once
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DAMO_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define DAMO_THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define DAMO_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define DAMO_THREAD_SANITIZER 1
#endif
#if DAMO_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#elif DAMO_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace damo::cpu_backend {

#if DAMO_ADDRESS_SANITIZER

class FiberStack {
 public:
  /// Of a new fiber.
  void begin(const void* bottom, std::size_t bytes) {
    bottom_ = bottom;
    bytes_ = bytes;
    frames_ = nullptr;
  }
  /// Of the calling thread: its place is learnt by arrived_from() on the first fiber.
  void adopt_thread() {}
  /// The last thing before the switch. ends: this stack is not gone back to.
  void leave_for(const FiberStack& next, bool ends = false) {
    need_room();
    __sanitizer_start_switch_fiber(ends ? nullptr : &frames_, next.bottom_, next.bytes_);
  }
  /// The first thing after it.
  void arrived_from(FiberStack& last) { __sanitizer_finish_switch_fiber(frames_, &last.bottom_, &last.bytes_); }

 private:
  /// A stack that is full faults here: once the sanitizer was told of a switch, it could not be told that none comes.
  __attribute__((noinline, no_sanitize("address"))) static void need_room() {
    volatile char room[2048];
    room[0] = 0;
  }

  const void* bottom_ = nullptr;
  std::size_t bytes_ = 0;
  void* frames_ = nullptr;
};

#elif DAMO_THREAD_SANITIZER

class FiberStack {
 public:
  FiberStack() = default;
  FiberStack(const FiberStack&) = delete;
  FiberStack(FiberStack&& other) noexcept : context_(other.context_), is_own_(other.is_own_) { other.is_own_ = false; }
  ~FiberStack() { end(); }
  void begin(const void*, std::size_t) {
    end();
    context_ = __tsan_create_fiber(0);
    is_own_ = true;
  }
  void adopt_thread() { context_ = __tsan_get_current_fiber(); }
  void leave_for(const FiberStack& next, bool = false) { __tsan_switch_to_fiber(next.context_, 0); }
  void arrived_from(FiberStack&) {}

 private:
  void end() {
    if (is_own_) __tsan_destroy_fiber(context_);
  }
  void* context_ = nullptr;
  bool is_own_ = false;
};

#else

struct FiberStack {
  void begin(const void*, std::size_t) {}
  void adopt_thread() {}
  void leave_for(const FiberStack&, bool = false) {}
  void arrived_from(FiberStack&) {}
};

#endif

}  // namespace damo::cpu_backend
