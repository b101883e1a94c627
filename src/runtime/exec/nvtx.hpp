// NVTX: ranges that NVIDIA's profilers show beside the kernels. The library is opened at the first use; where it is not there nothing happens.
// Profiled calls (Options::profile) have a range around each node.
#pragma once

namespace damo::nvtx {

bool is_there();
/// Only if the library is there. Ranges of a thread nest.
void push(const char* name);
void pop();

}  // namespace damo::nvtx
