#include "runtime/cuda/schedule.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace damo {
namespace {

constexpr int kVectorBytes = 16;     // the widest access of a thread
constexpr int kBytesInFlight = 32;   // of reads a thread: 48 KB a multiprocessor keep an H200's memory busy
constexpr int kHeavyCost = 150;      // instructions an element from which arithmetic, not memory, is the limit

/// DAMO_CUDA_SCHEDULE=block,vector,unroll replaces the choice: for measuring.
bool from_environment(CudaSchedule& schedule) {
  const char* text = std::getenv("DAMO_CUDA_SCHEDULE");
  return text && std::sscanf(text, "%d,%d,%d", &schedule.block, &schedule.vector, &schedule.unroll) == 3;
}

}  // namespace

CudaSchedule cuda_schedule(const KernelSpec& spec) {
  int widest = 1, read = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const int bytes = static_cast<int>(itemsize(spec.parameter_dtype(i)));
    widest = std::max(widest, bytes);
    if (!spec.is_output(i)) read += bytes;
  }
  CudaSchedule schedule;
  schedule.vector = kVectorBytes / widest;
  const int in_flight = std::max(read, 1) * schedule.vector;
  while (schedule.unroll < 4 && in_flight * schedule.unroll < kBytesInFlight) schedule.unroll *= 2;
  if (spec.cost() >= kHeavyCost) {
    schedule.vector = std::min(schedule.vector, 2);
    schedule.unroll = 1;
  }
  from_environment(schedule);
  return schedule;
}

}  // namespace damo
