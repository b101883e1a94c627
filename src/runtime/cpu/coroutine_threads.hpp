// The threads of a block as coroutines that the compiler made. Their frames, 64 to 300 bytes each, lie one behind the
// other in memory that the worker keeps.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/cpu/cooperative.hpp"

namespace damo::cpu_backend {

class CoroutineThreads {
 public:
  CoroutineThreads(CoroutineStart start, void* const* arguments) : start_(start), arguments_(arguments) {}

  void begin(std::size_t count) {
    handles().resize(count);
    arena().used = 0;
    arena().count = count;
  }
  void start(std::size_t thread, ThreadState& state) { handles()[thread] = start_(arguments_, &state); }
  void resume(std::size_t thread) {
    void* const handle = handles()[thread];
    (*static_cast<void (**)(void*)>(handle))(handle);
  }

  /// For the frame of the thread that starts.
  static void* memory(std::size_t bytes);

 private:
  struct Arena {
    std::vector<std::unique_ptr<std::byte[]>> chunks;  // those before the last are of this block's earlier threads
    std::size_t capacity = 0, used = 0, count = 0;
  };
  static Arena& arena();
  static std::vector<void*>& handles();

  CoroutineStart start_;
  void* const* arguments_;
};

}  // namespace damo::cpu_backend
