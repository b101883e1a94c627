// Runs a compiled kernel over its blocks on oneTBB's threads.
//
// In: a kernel, its arguments, its launch, the number of blocks. Out: nothing; run() returns when all blocks are done.
// Each thread gets one contiguous share; the caller takes part, and does small work alone. Several callers may run at
// the same time. In a child of fork() whose parent had run kernels on threads it runs on the caller alone. See tests/runtime/cpu/worker_pool_test.cpp.
#pragma once
#include <cstdint>
#include <memory>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

class WorkerPool {
 public:
  /// threads 0: DAMO_NUM_THREADS if it is set, else what the hardware (and the process's affinity) has.
  explicit WorkerPool(int threads = 0);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool();

  int threads() const { return threads_; }

  /// blocks_per_share: the fewest blocks worth a thread of their own; fewer than two such shares run on the caller.
  /// shared_bytes: shared memory each worker needs, static and dynamic; frame.shared points to it, 64-aligned,
  /// contents arbitrary.
  void run(KernelEntry kernel, void* const* arguments, const LaunchFrame& frame, std::int64_t blocks,
           std::int64_t blocks_per_share = 1, std::size_t shared_bytes = 0) const;

 private:
  struct Arena;
  int threads_;
  std::unique_ptr<Arena> arena_;
};

}  // namespace damo::cpu_backend
