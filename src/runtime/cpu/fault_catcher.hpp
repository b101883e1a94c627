// Catches what kills a process: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP and SIGABRT in code that Damo lets a user write
// (compiled kernels) or gives a user's text to (the compiler). The call that was guarded ends, the process goes on.
//
// In: a function to call. Out: whether it returned, and, if not, what the processor said. The signals' handlers are
// installed by the first call in the process. A fault outside a guarded call, and a signal that somebody sent, goes to the
// handler that was there before, in the way that it asked for (its mask, SA_RESETHAND); without one the process ends as it
// would have. A handler that the program installs later hides these, unless it calls them in turn: install() puts them in
// front again, and CpuBackend does so for each module that it loads; a look at each launch would cost as much as a launch.
// Each thread gets a stack for the handlers, so that a stack that overflowed can be left too.
//
// Never: unwinding. Frames between the call and the fault are dropped as they are, with the locks and memory they hold.
// That is right for compiled kernels, which hold nothing. See tests/runtime/cpu/kernel_fault_test.cpp, fault_catcher_test.cpp.
#pragma once
#include <atomic>
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

/// [begin, end).
struct CodeRange {
  std::uintptr_t begin = 0, end = 0;
  bool has(std::uintptr_t place) const { return place >= begin && place < end; }
};

class FaultCatcher {
 public:
  /// The code whose callers and stops are of interest; may be empty.
  explicit FaultCatcher(CodeRange code, CodeRange more = {});
  FaultCatcher(const FaultCatcher&) = delete;
  FaultCatcher& operator=(const FaultCatcher&) = delete;
  ~FaultCatcher();

  /// Calls run(). False: it faulted, was stopped or called leave().
  template <class F>
  bool call(const F& run) {
    if (sigsetjmp(back_, 0) != 0) {  // without the mask, which costs a system call
      if (was_stopped_) allow_stops();
      return false;
    }
    is_armed_ = true;
    run();
    is_armed_ = false;
    return true;
  }

  /// Puts the handlers in front of the program's, where they are not.
  static void install();
  /// The innermost catcher of this thread; null outside of any call.
  static FaultCatcher* current();
  /// Ends the call that this thread is in.
  [[noreturn]] void leave();
  const Fault& fault() const { return fault_; }

  // A stop from outside: another thread sets wants_stop and sends stop_signal() to this one. Code that is inside
  // the ranges is left at once; anywhere else nothing happens, as a lock may be held there, and the sender repeats.
  /// False: the thread has not looked at the last signal yet, so there is no need for another.
  bool ask_to_stop() {
    wants_stop_ = true;
    return !is_asked_.exchange(true);
  }
  bool was_stopped() const { return was_stopped_; }
  /// Of the real-time signals one that nobody handles.
  static int stop_signal();
  /// This thread takes stop signals.
  static void allow_stops();

 private:
  friend struct FaultHandlers;
  bool covers(std::uintptr_t place) const { return code_.has(place) || more_.has(place); }
  void note(int signal, const siginfo_t& info, const void* context);
  void find_caller();

  CodeRange code_, more_;
  FaultCatcher* outer_;
  Fault fault_;
  volatile bool is_armed_ = false, was_stopped_ = false;
  std::atomic<bool> wants_stop_ = false, is_asked_ = false;
  sigjmp_buf back_;
};

}  // namespace damo::cpu_backend
