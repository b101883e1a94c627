// CallPlan: what memory a call of a Function takes, known before it runs (Function::plan).
//
//   std::cout << f.plan({{1 << 20, 512}}).to_string();   // "peak 6.00 GiB: inputs 2.00 GiB, results 2.00 GiB, temporaries 2.00 GiB"
//
// Bytes are those of the elements; the pool hands out up to an eighth more (DeviceMemory, device.hpp). Workspaces of kernels and libraries are counted. A library that
// measures its ways at the first call is counted with the most that any of them needs, steps of a loop with one step at a time, and of an ifelse the branch that needs more; on a GPU steps that a
// replayed graph runs side by side take up to 64 MiB more.
#pragma once
#include <cstddef>
#include <string>

namespace damo {

struct CallPlan {
  std::size_t inputs = 0;       ///< of the caller
  std::size_t constants = 0;    ///< of the Function
  std::size_t shared = 0;       ///< what shared variables hold
  std::size_t results = 0;      ///< buffers of their own, of results and what they look into; copies of inputs, constants and shared variables
  std::size_t updates = 0;      ///< new values of shared variables that cannot be written over the old ones
  std::size_t temporaries = 0;  ///< the arena: values that are gone when the call returns, and what kernels, library calls, loops' steps and branches need while they run, placed by lifetime
  /// false: an op finds its sizes in its data, and what comes after it is not counted.
  bool is_complete = true;

  /// What a first call asks the device for: results, updates and temporaries. Later ones have them from the call before.
  std::size_t asked_for() const { return results + updates + temporaries; }
  /// All of it at once.
  std::size_t peak() const { return inputs + constants + shared + asked_for(); }
  /// One line, what is 0 left out.
  std::string to_string() const;
};

}  // namespace damo
