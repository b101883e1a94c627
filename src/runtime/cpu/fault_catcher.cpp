// A jump from a fiber's stack to a thread's may go to a lower address, which the hardened longjmp takes for a mistake.
#undef _FORTIFY_SOURCE
#include "runtime/cpu/fault_catcher.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

namespace damo::cpu_backend {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT};
constexpr std::size_t kHandlerStack = 64 << 10;  // a frame of the signal alone has up to 11 KiB with AMX

thread_local FaultCatcher* current_catcher = nullptr;

struct sigaction before[NSIG];
int chosen_stop_signal = 0;

/// This thread's stack for handlers, unless it has one that is large enough (sanitizers give one).
class HandlerStack {
 public:
  HandlerStack() {
    stack_t old{};
    if (sigaltstack(nullptr, &old) == 0 && !(old.ss_flags & SS_DISABLE) && old.ss_size >= kHandlerStack / 2) return;
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
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    munmap(memory_, kHandlerStack);
  }
  HandlerStack(const HandlerStack&) = delete;

 private:
  void* memory_ = nullptr;
};

greg_t gregister(const void* context, int index) { return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[index]; }

/// As if there were no handler of ours.
void pass_on(int signal, siginfo_t* info, void* context) {
  const struct sigaction& old = before[signal];
  if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
  struct sigaction fallback{};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent, not caused: it would not happen again by itself
}

}  // namespace

struct FaultHandlers {
  static void fault(int signal, siginfo_t* info, void* context) {
    FaultCatcher* const catcher = current_catcher;
    const bool is_ours = catcher && catcher->is_armed_ && (info->si_code > 0 || signal == SIGABRT);
    if (!is_ours) return pass_on(signal, info, context);
    catcher->is_armed_ = false;  // a second fault, in here, is not the code's
    catcher->note(signal, *info, context);
    siglongjmp(catcher->back_, 1);
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

  static void install() {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // blocks nothing: there is no mask to restore after the jump
    action.sa_sigaction = fault;
    for (const int signal : kSignals) sigaction(signal, &action, &before[signal]);
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
  std::uintptr_t words[512];
  // A stack that is full can be read from the page on that follows the one that can't be touched.
  const std::uintptr_t begin = fault_.overflows_stack() ? std::max((fault_.address / kPage + 1) * kPage, fault_.stack) : fault_.stack;
  iovec here{words, sizeof words}, there{reinterpret_cast<void*>(begin), sizeof words};
  const ssize_t bytes = process_vm_readv(getpid(), &here, 1, &there, 1, 0);  // an error where memcpy would fault again
  for (ssize_t i = 0; i < bytes / static_cast<ssize_t>(sizeof words[0]) && fault_.caller == 0; ++i) {
    if (covers(words[i])) fault_.caller = words[i];
  }
}

}  // namespace damo::cpu_backend
