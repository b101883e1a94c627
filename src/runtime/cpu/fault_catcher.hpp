// Catches what kills a process: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGABRT in code that Damo lets a user write
// (compiled kernels) or gives a user's text to (the compiler). The call that was guarded ends, the process goes on.
//
// In: a function to call. Out: whether it returned, and, if not, what the processor said. The signals' handlers are
// installed by the first call in the process; a fault outside a guarded call goes to the handler that was there before.
// Each thread gets a stack for the handlers, so that a stack that overflowed can be left too.
//
// Never: unwinding. Frames between the call and the fault are dropped as they are, with the locks and memory they hold.
// That is right for compiled kernels, which hold nothing. See tests/runtime/cpu/fault_catcher_test.cpp.
#pragma once
#include <csetjmp>
#include <csignal>
#include <cstddef>
#include <cstdint>

namespace damo::cpu_backend {

/// What the handler could see. Addresses as numbers: nothing promises that they can be read.
struct Fault {
  int signal = 0;               ///< 0: none
  int code = 0;                 ///< si_code
  std::uintptr_t address = 0;   ///< that was read or written
  std::uintptr_t stack = 0;     ///< the stack pointer
  std::uintptr_t place = 0;     ///< of the instruction
  std::uintptr_t caller = 0;    ///< if place is in a library: the nearest return address into the code; else 0
  bool is_write = false;
  bool is_jump = false;         ///< it was an instruction that could not be read

  /// Nothing but a stack's guard page is this near to the stack pointer and can't be used.
  bool overflows_stack() const {
    constexpr std::uintptr_t kNear = 64 << 10;
    return signal == SIGSEGV && address + kNear > stack && address < stack + kNear;
  }
};

class FaultCatcher {
 public:
  /// [begin, end): the code whose callers and stops are of interest; may be empty.
  FaultCatcher(std::uintptr_t code_begin, std::uintptr_t code_end);
  FaultCatcher(const FaultCatcher&) = delete;
  FaultCatcher& operator=(const FaultCatcher&) = delete;
  ~FaultCatcher();

  /// Calls run(). False: it faulted, was stopped or called leave().
  template <class F>
  bool call(const F& run) {
    if (sigsetjmp(back_, 0) != 0) return false;  // no mask to restore: the handlers block nothing
    is_armed_ = true;
    run();
    is_armed_ = false;
    return true;
  }

  /// The innermost catcher of this thread; null outside of any call.
  static FaultCatcher* current();
  /// Ends the call that this thread is in.
  [[noreturn]] void leave();
  const Fault& fault() const { return fault_; }

  // A stop from outside: another thread sets wants_stop and sends stop_signal() to this one. Code that is inside
  // [begin, end) is left at once; anywhere else nothing happens, as a lock may be held there, and the sender repeats.
  void ask_to_stop() { wants_stop_ = true; }
  bool was_stopped() const { return was_stopped_; }
  /// Of the real-time signals one that nobody handles.
  static int stop_signal();

 private:
  friend struct FaultHandlers;
  bool covers(std::uintptr_t place) const { return place >= code_begin_ && place < code_end_; }
  void note(int signal, const siginfo_t& info, const void* context);
  void find_caller();

  std::uintptr_t code_begin_, code_end_;
  FaultCatcher* outer_;
  Fault fault_;
  volatile bool is_armed_ = false, was_stopped_ = false;
  volatile std::sig_atomic_t wants_stop_ = 0;
  sigjmp_buf back_;
};

}  // namespace damo::cpu_backend
