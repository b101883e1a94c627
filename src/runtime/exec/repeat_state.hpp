// RepeatState: what a call whose thunks are left out (Context::repeats) depends on beside the addresses of its cells. One for a Context that is called and those that its thunks run by steps.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

namespace damo {

class DataReport;

struct RepeatState {
  std::uint64_t changes = 0;                           ///< how often memory that a thunk keeps from run to run became other memory
  std::vector<std::shared_ptr<DataReport>> reports;  ///< where kernels write what they find in their data: a thunk asks before each of its runs, and who leaves it out asks in its place
};

}  // namespace damo
