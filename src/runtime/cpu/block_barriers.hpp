// Barriers of a block: what happens once its threads wait, and what to say if nothing can happen any more.
#pragma once
#include <span>

#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// Finishes __syncthreads and its forms if all threads that have not exited stand there, else every named barrier that
/// has its threads: gives them their results and makes them runnable. threads: all of a block's. True if any was finished.
bool finish_barriers(std::span<ThreadState> threads);

/// Threads that wait for each other for ever: names two of them, and what each waits for.
void report_stuck(std::span<const ThreadState> threads, LaunchReport& report);

}  // namespace damo::cpu_backend
