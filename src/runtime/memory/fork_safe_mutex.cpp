#include "runtime/memory/fork_safe_mutex.hpp"

#include <pthread.h>

#include <unordered_set>

namespace damo {
namespace {

/// All there are, never destroyed: some live until the process ends.
struct Registry {
  std::mutex mutex;
  std::unordered_set<ForkSafeMutex*> all;

  Registry() { pthread_atfork(hold, let_go, let_go); }
  static Registry& instance() {
    static Registry* const registry = new Registry;
    return *registry;
  }
  static void hold() {
    instance().mutex.lock();
    for (ForkSafeMutex* const mutex : instance().all) mutex->lock();
  }
  static void let_go() {
    for (ForkSafeMutex* const mutex : instance().all) mutex->unlock();
    instance().mutex.unlock();
  }
};

}  // namespace

ForkSafeMutex::ForkSafeMutex() {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.all.insert(this);
}

ForkSafeMutex::~ForkSafeMutex() {
  Registry& registry = Registry::instance();
  const std::lock_guard lock(registry.mutex);
  registry.all.erase(this);
}

}  // namespace damo
