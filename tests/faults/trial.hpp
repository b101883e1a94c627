// One run of a program with one fault, and what was wrong with how it ended.
#pragma once
#include <string>

#include "faults/injection.hpp"
#include "faults/program.hpp"

namespace damo::faults {

struct TrialResult {
  long points = 0;      ///< that there were before it ended
  bool failed = false;  ///< whether a point was made to fail
  std::string problem;  ///< empty: it ended in the right answer or in one clear error, kept nothing, and went on rightly
};

/// Builds the program on the device and takes two steps, with the fault; then a step, or all of it, without. What was wrong
/// with how that ended; number 0: without any fault.
std::string run_on(const ProgramEntry& entry, Device device, unsigned kinds, long number, Extent extent);

/// The same on a CPU of its own, in a process of its own, so that no end of it ends the test, and in a thread of its own.
TrialResult run_trial(const ProgramEntry& entry, unsigned kinds, long number, Extent extent);

/// The same in this process: what is made once in a process is there afterwards, and a debugger sees it. What was wrong;
/// nobody looks for what was kept.
std::string run_here(const ProgramEntry& entry, unsigned kinds, long number, Extent extent);

}  // namespace damo::faults
