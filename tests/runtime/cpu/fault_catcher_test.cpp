// A host program with handlers, threads and alternate stacks of its own, and Damo's handlers among them. Each test is a
// process: handlers are the process's.
#include "runtime/cpu/fault_catcher.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

namespace damo::cpu_backend {
namespace {

using damo::testing::in_child;

constexpr int kEndedBy = 1000;  // in_child: + the signal

int* volatile nowhere = nullptr;  // volatile: a compiler that sees the null leaves the write out
// A sanitizer would end the process before the processor sees it.
__attribute__((no_sanitize("null,address"))) void write_to_null() { *nowhere = 1; }

/// What a kernel that faults is to its launch.
bool is_caught(void (*work)() = write_to_null) { return !FaultCatcher(CodeRange{}).call(work); }

/// Of this process; the handlers may come from its parent.
void first_kernel() {
  const FaultCatcher first(CodeRange{});
  FaultCatcher::install();
}

std::atomic<int> calls = 0;
sigjmp_buf back;

void count(int) { ++calls; }
void jump_out(int) { siglongjmp(back, 1); }

void handle(int signal, void (*handler)(int), int flags = 0, const std::vector<int>& mask = {}) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int blocked : mask) sigaddset(&action.sa_mask, blocked);
  sigaction(signal, &action, nullptr);
}

/// Whether the program's own fault reaches the program's own handler, which jumps out.
bool reaches_the_program() {
  if (sigsetjmp(back, 1) != 0) return true;
  write_to_null();
  return false;
}

TEST(FaultCatcher, LeavesFaultsOutsideOfKernelsToTheProgram) {
  EXPECT_EQ(in_child([] {
    handle(SIGSEGV, jump_out);
    first_kernel();
    for (int i = 0; i < 3; ++i) {
      if (!is_caught()) return 1;
      if (!reaches_the_program()) return 2;
    }
    return 0;
  }), 0);
  EXPECT_EQ(in_child([] {
    if (!is_caught()) return 1;
    write_to_null();
    return 2;
  }), kEndedBy + SIGSEGV) << "without a handler the process ends as it would have";
}

TEST(FaultCatcher, TakesAKernelsAbortAndNotASupervisors) {
  EXPECT_EQ(in_child([] { return is_caught([] { std::abort(); }) ? 0 : 1; }), 0);
  const auto sent = [](auto send) {
    return in_child([send] {
      alarm(20);
      is_caught([] {});  // the handlers are there
      const pid_t parent = getpid();
      static decltype(send) how = send;
      static pid_t target = parent;
      static const auto self = pthread_self();
      return is_caught([] {
        how(target, self);
        for (;;) {
        }
      }) ? 1 : 2;
    });
  };
  EXPECT_EQ(sent([](pid_t process, pthread_t) {
    if (fork() == 0) {
      kill(process, SIGABRT);
      _exit(0);
    }
  }), kEndedBy + SIGABRT) << "sent by another process while a kernel runs";
  EXPECT_EQ(sent([](pid_t, pthread_t thread) { std::thread([thread] { pthread_kill(thread, SIGABRT); }).detach(); }), kEndedBy + SIGABRT)
      << "sent by another thread";
}

TEST(FaultCatcher, IgnoresWhatTheProgramIgnoresWhereItWasSent) {
  EXPECT_EQ(in_child([] {
    handle(SIGABRT, SIG_IGN);
    first_kernel();
    kill(getpid(), SIGABRT);
    return 7;
  }), 7);
}

TEST(FaultCatcher, CallsAHandlerForOneTimeOnce) {
  EXPECT_EQ(in_child([] {
    handle(SIGSEGV, count, static_cast<int>(SA_RESETHAND));
    first_kernel();
    kill(getpid(), SIGSEGV);
    if (calls != 1) return 1;
    kill(getpid(), SIGSEGV);
    return 2;
  }), kEndedBy + SIGSEGV) << "the second time is the system's";
}

TEST(FaultCatcher, BlocksWhatAHandlerAskedFor) {
  static sigset_t seen;
  EXPECT_EQ(in_child([] {
    handle(SIGBUS, [](int) { pthread_sigmask(SIG_SETMASK, nullptr, &seen); }, 0, {SIGUSR1, SIGTERM});
    first_kernel();
    kill(getpid(), SIGBUS);
    if (!sigismember(&seen, SIGUSR1) || !sigismember(&seen, SIGTERM) || !sigismember(&seen, SIGBUS)) return 1;
    if (sigismember(&seen, SIGUSR2)) return 2;
    pthread_sigmask(SIG_SETMASK, nullptr, &seen);
    if (sigismember(&seen, SIGUSR1) || sigismember(&seen, SIGBUS)) return 3;
    return 0;
  }), 0);
}

TEST(FaultCatcher, GivesAHandlerItsThreeArguments) {
  static siginfo_t seen;
  static bool has_context = false;
  EXPECT_EQ(in_child([] {
    struct sigaction action{};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void* context) {
      seen = *info;
      has_context = context != nullptr;
    };
    sigaction(SIGSEGV, &action, nullptr);
    first_kernel();
    kill(getpid(), SIGSEGV);
    return seen.si_pid == getpid() && seen.si_signo == SIGSEGV && has_context ? 0 : 1;
  }), 0);
}

TEST(FaultCatcher, IsInFrontAgainWhereTheProgramInstalledAHandlerLater) {
  EXPECT_EQ(in_child([] {
    first_kernel();
    handle(SIGSEGV, jump_out);
    FaultCatcher::install();
    FaultCatcher::install();
    for (int i = 0; i < 3; ++i) {
      if (!is_caught()) return 1;
      if (!reaches_the_program()) return 2;
    }
    return 0;
  }), 0);
}

struct sigaction found;
void chain(int signal, siginfo_t* info, void* context) {
  ++calls;
  found.sa_sigaction(signal, info, context);
  ++calls;  // no tail call
}
void handle_and_chain() {
  struct sigaction action{};
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_sigaction = chain;
  sigaction(SIGSEGV, &action, &found);
}

TEST(FaultCatcher, CatchesBehindALaterHandlerThatCallsWhatItFound) {
  EXPECT_EQ(in_child([] {
    first_kernel();
    handle_and_chain();
    for (int i = 0; i < 3; ++i) {
      if (!is_caught()) return 1;  // a second time: the signal must not have stayed blocked
    }
    return calls == 3 ? 0 : 2;
  }), 0);
}

TEST(FaultCatcher, EndsWhereTwoHandlersCallEachOther) {
  EXPECT_EQ(in_child([] {
    handle(SIGSEGV, jump_out);
    first_kernel();
    handle_and_chain();
    FaultCatcher::install();
    if (!is_caught() || calls != 0) return 1;
    for (int i = 0; i < 3; ++i) {
      if (!reaches_the_program()) return 2;
    }
    return calls == 3 ? 0 : 3;
  }), 0);
  EXPECT_EQ(in_child([] {
    alarm(20);
    first_kernel();
    handle_and_chain();
    FaultCatcher::install();
    write_to_null();
    return 1;
  }), kEndedBy + SIGSEGV);
}

TEST(FaultCatcher, WorksInThreadsAndGivesTheirAlternateStacksBack) {
  EXPECT_EQ(in_child([] {
    std::vector<std::thread> threads;
    static std::atomic<int> faults = 0, wrong = 0;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([] {
        static thread_local char small[8192];
        stack_t own{};
        own.ss_sp = small;
        own.ss_size = sizeof small;
        sigaltstack(&own, nullptr);
        // Destroyed after Damo's, which is made later: what it finds is what the program has set.
        struct Look {
          ~Look() {
            stack_t now{};
            sigaltstack(nullptr, &now);
            wrong += now.ss_sp != small;
            now.ss_flags = SS_DISABLE;
            sigaltstack(&now, nullptr);
          }
          int used = 0;
        };
        static thread_local Look look;
        look.used = 1;
        for (int k = 0; k < 20; ++k) faults += is_caught();
      });
    }
    for (std::thread& thread : threads) thread.join();
    return faults == 80 && wrong == 0 ? 0 : 1;
  }), 0);
}

TEST(FaultCatcher, KeepsAStackThatTheProgramSetLater) {
  EXPECT_EQ(in_child([] {
    static char large[128 << 10];
    int result = 3;
    std::thread([&] {
      is_caught();
      stack_t own{}, now{};
      own.ss_sp = large;
      own.ss_size = sizeof large;
      sigaltstack(&own, nullptr);
      if (!is_caught()) result = 1;
      else result = sigaltstack(nullptr, &now) == 0 && now.ss_sp == large ? 0 : 2;
    }).join();
    return result;
  }), 0);
}

}  // namespace
}  // namespace damo::cpu_backend
