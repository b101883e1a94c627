// OfThisProcess: an object that has threads and belongs to a thread, made when it is first asked for and destroyed, which waits for its threads, at that thread's end; of a process'
// main thread that is exit(), before any library's own objects are destroyed. A process that fork() made has none of the threads, and would wait for them for ever: there what it has
// of them is left as it is, and who asks gets another.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <memory>

namespace damo {

/// To be declared thread_local.
template <class T>
class OfThisProcess {
 public:
  OfThisProcess() = default;
  OfThisProcess(const OfThisProcess&) = delete;
  OfThisProcess& operator=(const OfThisProcess&) = delete;
  ~OfThisProcess() { leave_in_child(); }

  T* operator->() {
    leave_in_child();
    if (!object_) {
      object_ = std::make_unique<T>();
      process_ = getpid();
    }
    return object_.get();
  }

 private:
  void leave_in_child() {
    if (object_ && process_ != getpid()) static_cast<void>(object_.release());
  }
  std::unique_ptr<T> object_;
  pid_t process_ = 0;
};

}  // namespace damo
