// HostCopies: the device's copies of a launch's In, Out and InOut arguments. Made before the launch, which then sees
// their addresses; finish() brings the values back. On a device that has the host's memory an argument's own memory is
// passed where that means the same. See tests/runtime/module/host_argument_test.cpp.
#pragma once
#include <cstddef>
#include <vector>

#include <damo/array.hpp>
#include <damo/host_argument.hpp>

#include "runtime/backend.hpp"
#include "runtime/memory/host_ranges.hpp"

namespace damo {

class HostCopies {
 public:
  /// Copies what goes in, in the stream's order. Throws DeviceError for an Array of a device other than this and the
  /// host, OutOfMemoryError.
  HostCopies(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count, void* stream);
  HostCopies(const HostCopies&) = delete;
  HostCopies& operator=(const HostCopies&) = delete;

  /// The argument's bytes for the launch: for host memory those of the address to pass.
  void* value(std::size_t index) const { return values_[index]; }
  /// After the launch: copies back what comes out and waits for it.
  void finish();

 private:
  struct Copy {
    const HostArgument* host;
    Array memory;
  };
  void* place(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count, std::size_t index);
  bool must_copy(const LoadedKernel& kernel, const KernelArgument* arguments, std::size_t count, std::size_t index) const;

  Backend& backend_;
  void* stream_;
  std::vector<void*> addresses_, values_;
  std::vector<Copy> copies_;
  std::vector<KnownHostRange> ranges_;  // passed as they are to a checked kernel
};

}  // namespace damo
