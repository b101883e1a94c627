#include "runtime/cpu/library_calls.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

namespace damo::cpu_backend {
namespace {

constexpr std::chrono::microseconds kPause(50);

/// A shared lock of the C library's does not serve: a child, whose thread has another number, can't open it.
struct Calls {
  std::mutex door;               ///< held to begin a call, by fork(), and from the end of the program on
  std::atomic<int> running = 0;  ///< in all threads
};
Calls& calls() {
  static Calls* const instance = new Calls;  // never destroyed: threads may compute until the process ends
  return *instance;
}
thread_local int own_calls = 0;  ///< fork() in a signal's handler does not wait for the call that was interrupted
thread_local int own_forks = 0;  ///< handlers that have been run: there is one for each library
std::atomic<bool> is_open = false;

void hold() {
  if (own_forks++ > 0) return;
  calls().door.lock();
  while (calls().running > own_calls) std::this_thread::sleep_for(kPause);
}
void let_go() {
  if (--own_forks == 0) calls().door.unlock();
}
[[gnu::destructor]] void hold_at_end() {
  if (is_open) hold();
}

}  // namespace

void hold_calls_at_forks() {
  is_open = true;
  pthread_atfork(hold, let_go, let_go);
}

LibraryCall::LibraryCall() {
  const std::lock_guard lock(calls().door);
  ++calls().running;
  ++own_calls;
}

LibraryCall::~LibraryCall() {
  --own_calls;
  --calls().running;
}

}  // namespace damo::cpu_backend
