// Shared memory of the system's (POSIX), for processes that exchange DeviceMemory of the CPU. A block has a name that
// nobody can guess; it vanishes when its maker frees it or ends. Thread-safe. See tests/runtime/memory/ipc_test.cpp.
#pragma once
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <utility>

namespace damo {

class SharedMemory {
 public:
  /// Zeros. Null if there is no memory left.
  void* allocate(std::size_t bytes);
  void release(void* memory) noexcept;
  /// The name of the block that memory lies in and memory's place in it; an empty name if it lies in none.
  std::pair<std::string, std::size_t> find(const void* memory) const;
  /// Another process's block, of at least so many bytes. Throws DeviceError if it is gone or smaller.
  void* open(const std::string& name, std::size_t bytes);
  void close(void* memory) noexcept;

 private:
  struct Block {
    std::string name;
    std::size_t bytes;
  };
  mutable std::mutex mutex_;
  std::map<const void*, Block> own_, opened_;  // by address
};

}  // namespace damo
