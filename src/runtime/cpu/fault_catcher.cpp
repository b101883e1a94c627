// A jump from a fiber's stack to a thread's may go to a lower address, which the hardened longjmp takes for a mistake.
#undef _FORTIFY_SOURCE
#include "runtime/cpu/fault_catcher.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace damo::cpu_backend {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr std::size_t kHandlerStack = 64 << 10;  // a frame of the signal alone has up to 11 KiB with AMX

thread_local FaultCatcher* current_catcher = nullptr;

int chosen_stop_signal = 0;

/// This thread's stack for handlers, unless it has one that is large enough (sanitizers give one). One of the program's
/// comes back when the thread ends.
class HandlerStack {
 public:
  HandlerStack() {
    if (sigaltstack(nullptr, &old_) != 0) return;
    if (!(old_.ss_flags & SS_DISABLE) && old_.ss_size >= kHandlerStack / 2) return;
    void* const memory = mmap(nullptr, kHandlerStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t mine{};
    mine.ss_sp = memory;
    mine.ss_size = kHandlerStack;
    if (sigaltstack(&mine, nullptr) == 0) memory_ = memory;
    else munmap(memory, kHandlerStack);
  }
  ~HandlerStack() {
    if (!memory_) return;
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory_) sigaltstack(&old_, nullptr);  // else the program has set one since
    munmap(memory_, kHandlerStack);
  }
  HandlerStack(const HandlerStack&) = delete;

 private:
  stack_t old_{};
  void* memory_ = nullptr;
};

greg_t gregister(const void* context, int index) { return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[index]; }

/// What the program had in place of Damo's handler, the last one first asked. There are several where it installed one
/// after Damo and Damo's was then put in front again (catch_faults).
class Program {
 public:
  void add(const struct sigaction& action) {
    const int count = std::min(count_.load(std::memory_order_relaxed), kMost - 1);
    entries_[count].action = action;
    entries_[count].is_spent = false;
    count_.store(count + 1, std::memory_order_release);
  }

  /// As if there were no handler of ours. back: how many of the program's handlers have called ours, by chaining.
  void handle(int signal, siginfo_t* info, void* context, int back) {
    const int at = count_.load(std::memory_order_acquire) - 1 - back;
    if (at < 0) return end(signal, info);
    const struct sigaction& action = entries_[at].action;
    const bool is_once = (action.sa_flags & SA_RESETHAND) != 0;
    if (action.sa_handler == SIG_DFL || (is_once && entries_[at].is_spent.exchange(true))) return end(signal, info);
    if (action.sa_handler == SIG_IGN) return info->si_code > 0 ? end(signal, info) : void();  // a fault is not ignored
    sigset_t mask = action.sa_mask, before;
    if (!(action.sa_flags & SA_NODEFER)) sigaddset(&mask, signal);
    pthread_sigmask(SIG_BLOCK, &mask, &before);
    if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(signal, info, context);
    else action.sa_handler(signal);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

 private:
  static constexpr int kMost = 8;
  struct Entry {
    struct sigaction action;
    std::atomic<bool> is_spent;
  };

  /// The system's own way with it.
  static void end(int signal, siginfo_t* info) {
    struct sigaction fallback{};
    fallback.sa_handler = SIG_DFL;
    sigaction(signal, &fallback, nullptr);
    if (info->si_code <= 0) raise(signal);  // sent, not caused: it would not happen again by itself
  }

  Entry entries_[kMost]{};
  std::atomic<int> count_ = 0;
};

Program program[NSIG];

/// One delivery that was passed on to the program; its handler may call ours in turn, with the same context.
thread_local struct {
  const void* context = nullptr;
  int depth = 0;
} passed_on;

/// Whether abort() of this very thread sent it, and not somebody else, who wants the process gone: the instruction before
/// is the system call, its registers are tgkill(this process, this thread, SIGABRT).
bool is_own_abort(const siginfo_t& info, const void* context) {
  if (info.si_code != SI_TKILL || info.si_pid != getpid()) return false;
  return gregister(context, REG_RDI) == getpid() && gregister(context, REG_RSI) == gettid() && gregister(context, REG_RDX) == SIGABRT;
}

}  // namespace

struct FaultHandlers {
  static void fault(int signal, siginfo_t* info, void* context) {
    // The system calls with nothing between the context and the return address; a handler that chains has its own frame.
    const bool is_chained = static_cast<char*>(__builtin_frame_address(0)) + 2 * sizeof(void*) != context;
    FaultCatcher* const catcher = current_catcher;
    const bool is_caused = info->si_code > 0 || (signal == SIGABRT && is_own_abort(*info, context));
    if (catcher && catcher->is_armed_ && is_caused) {
      catcher->is_armed_ = false;  // a second fault, in here, is not the code's
      catcher->note(signal, *info, context);
      // A handler that chains may have blocked signals, and the jump restores nothing.
      pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
      siglongjmp(catcher->back_, 1);
    }
    const int back = is_chained && passed_on.context == context ? passed_on.depth : 0;
    passed_on = {context, back + 1};
    program[signal].handle(signal, info, context, back);
    passed_on.context = nullptr;
  }

  static void stop(int, siginfo_t*, void* context) {
    FaultCatcher* const catcher = current_catcher;
    const auto place = static_cast<std::uintptr_t>(gregister(context, REG_RIP));
    if (!catcher) return;
    catcher->is_asked_ = false;
    if (!catcher->is_armed_ || !catcher->wants_stop_ || !catcher->covers(place)) return;
    catcher->is_armed_ = false;
    catcher->was_stopped_ = true;
    catcher->fault_.place = place;
    siglongjmp(catcher->back_, 1);
  }

  /// In front of what the program has, where that is not Damo's own.
  static void install_faults() {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    struct sigaction action{}, now{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // blocks nothing
    action.sa_sigaction = fault;
    for (const int signal : kSignals) {
      if (sigaction(signal, nullptr, &now) != 0 || ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == fault)) continue;
      program[signal].add(now);
      sigaction(signal, &action, nullptr);
    }
  }

  static void install() {
    install_faults();
    struct sigaction action{};
    for (int signal = SIGRTMAX - 1; signal > SIGRTMIN; --signal) {
      struct sigaction old{};
      if (sigaction(signal, nullptr, &old) != 0 || (old.sa_flags & SA_SIGINFO) || old.sa_handler != SIG_DFL) continue;
      action.sa_sigaction = stop;
      action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;  // blocked while it is handled: one must not interrupt another
      if (sigaction(signal, &action, nullptr) == 0) chosen_stop_signal = signal;
      return;
    }
  }
};

FaultCatcher::FaultCatcher(CodeRange code, CodeRange more) : code_(code), more_(more), outer_(current_catcher) {
  static std::once_flag once;
  std::call_once(once, FaultHandlers::install);
  static thread_local const HandlerStack stack;
  (void)stack;
  current_catcher = this;
}

FaultCatcher::~FaultCatcher() { current_catcher = outer_; }
void FaultCatcher::install() { FaultHandlers::install_faults(); }
FaultCatcher* FaultCatcher::current() { return current_catcher; }
int FaultCatcher::stop_signal() { return chosen_stop_signal; }

void FaultCatcher::allow_stops() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, chosen_stop_signal);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
}

void FaultCatcher::leave() {
  is_armed_ = false;
  siglongjmp(back_, 1);
}

void FaultCatcher::note(int signal, const siginfo_t& info, const void* context) {
  fault_.signal = signal;
  fault_.code = info.si_code;
  fault_.address = reinterpret_cast<std::uintptr_t>(info.si_addr);
  fault_.place = static_cast<std::uintptr_t>(gregister(context, REG_RIP));
  fault_.stack = static_cast<std::uintptr_t>(gregister(context, REG_RSP));
  const auto error = static_cast<std::uintptr_t>(gregister(context, REG_ERR));
  fault_.is_write = signal == SIGSEGV && (error & 2) != 0;
  fault_.is_jump = signal == SIGSEGV && (error & 16) != 0;
  if (!covers(fault_.place)) find_caller();
}

/// What a library function that faulted was called from: by its return address, which lies not far up the stack.
void FaultCatcher::find_caller() {
  constexpr std::uintptr_t kPage = 4096;
  // A stack that is full can be read from the page on that follows the one that can't be touched.
  const std::uintptr_t begin = fault_.overflows_stack() ? std::max((fault_.address / kPage + 1) * kPage, fault_.stack) : fault_.stack;
  std::uintptr_t words[32];  // few: the program's handler stack may be a small one
  for (std::uintptr_t at = begin; at < begin + kPage && fault_.caller == 0; at += sizeof words) {
    iovec here{words, sizeof words}, there{reinterpret_cast<void*>(at), sizeof words};
    const ssize_t bytes = process_vm_readv(getpid(), &here, 1, &there, 1, 0);  // an error where memcpy would fault again
    for (ssize_t i = 0; i < bytes / static_cast<ssize_t>(sizeof words[0]) && fault_.caller == 0; ++i) {
      if (covers(words[i])) fault_.caller = words[i];
    }
    if (bytes < static_cast<ssize_t>(sizeof words)) return;
  }
}

}  // namespace damo::cpu_backend
