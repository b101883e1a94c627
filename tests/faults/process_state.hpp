// What a process holds that a fault must not make it keep.
#pragma once
#include <string>

#include "faults/injection.hpp"

namespace damo::faults {

struct ProcessState {
  int descriptors = 0;       ///< open files
  int mappings = 0;          ///< of compiled code and of shared memory
  int shared_blocks = 0;     ///< named in /dev/shm by this process
  int temporary_files = 0;   ///< in the kernel cache's directory
  HeldMemory memory;         ///< of operator new, by threads that were armed
  friend bool operator==(const ProcessState&, const ProcessState&) = default;

  static ProcessState now();
};

/// "descriptors 4 -> 5"; empty if they are equal.
std::string difference(const ProcessState& before, const ProcessState& after);

}  // namespace damo::faults
