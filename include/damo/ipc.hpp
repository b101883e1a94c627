// IpcHandle: memory of this process, for another one. Text, so that it can go through a pipe, a file or a command line.
//
//   std::string text = memory.ipc_handle().text();                            // one process
//   DeviceMemory theirs = DeviceMemory::open(device, IpcHandle::parse(text));  // the other
//
// Both see the same bytes; nothing orders their work but what they agree on. The first process must keep the memory
// until the other has let go of it. On a GPU any DeviceMemory or Array can be handed out, in whole allocations: whoever
// has the handle can reach all of the block that the memory lies in. On the CPU it must be DeviceMemory::shareable.
// A GPU's handle cannot be opened in the process that made it. See tests/runtime/memory/ipc_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <damo/device.hpp>
#include <damo/memory.hpp>

namespace damo {

class IpcHandle {
 public:
  /// As text() gave it. Throws OptionError for anything else.
  static IpcHandle parse(std::string_view text);
  std::string text() const;
  std::size_t size() const { return bytes_; }  ///< bytes of the memory

 private:
  friend class DevicePointer;
  friend class DeviceMemory;
  IpcHandle() = default;

  std::string allocation_;  // what the back end gave for the block
  DeviceKind kind_ = DeviceKind::kNull;
  std::size_t offset_ = 0, bytes_ = 0;  // of the memory in the block
};

}  // namespace damo
