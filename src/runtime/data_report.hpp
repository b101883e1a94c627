// DataReport: what a kernel found wrong in its data, for an error that a person can read. A kernel gets address() and, instead of
// what it cannot do, writes three numbers there:
//
//   found[1] = position; found[2] = extent; found[0] = 1;  // a position of uint64 by its bits
//
// Kernels of a CPU are over when their launch returns, so check() then throws at once. A GPU runs behind the program: check()
// before the next launch, and whoever waits for the device (Backend::throw_found), tell of it. See tests/function/indexing_test.cpp.
#pragma once
#include <cstdint>
#include <functional>

#include <damo/error.hpp>
#include <damo/host_memory.hpp>

namespace damo {

class DataReport {
 public:
  using Describe = std::function<ErrorParts(std::int64_t position, std::int64_t extent)>;
  DataReport(Device device, Describe describe);

  /// Of three 64-bit numbers, as the device addresses them.
  void* address() const { return memory_.device_data(); }
  /// Throws IndexError if a kernel wrote there, and forgets it.
  void check();

 private:
  PinnedMemory memory_;
  Describe describe_;
};

}  // namespace damo
