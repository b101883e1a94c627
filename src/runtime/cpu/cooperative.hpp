// Runs the threads of a CUDA C block that wait for each other, all on the calling thread: each runs until it waits, then
// the next one does, and an operation that all of its threads have reached is finished. Compiled code calls these through
// the table of runtime symbols. Threads are coroutines (a start function that gives a handle, made by the compiler
// plugin) or, where a wait stands in a function that could not be inlined, fibers with a stack each.
// Threads that can never go on, as they wait for different things, are reported in the launch's LaunchReport.
// See tests/runtime/cpu/cooperative_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// ", block (0, 0, 0), thread (3, 0, 0)" of the thread that runs on the calling one; "" if that is not known, as in the
/// loops that threads without waits become.
std::string running_thread_text();

/// Runs a thread to its first wait. Gives the handle with which it is resumed: its first word is a function of it.
using CoroutineStart = void* (*)(void* const* arguments, ThreadState* state);
using ThreadFunction = void (*)(void* const* arguments, ThreadState* state);

}  // namespace damo::cpu_backend

extern "C" {
void damo_run_coroutines(damo::cpu_backend::CoroutineStart start, void* const* arguments, const damo::cpu_backend::LaunchFrame* frame,
                         std::int64_t first, std::int64_t last);
void damo_run_threads(damo::cpu_backend::ThreadFunction thread, void* const* arguments, const damo::cpu_backend::LaunchFrame* frame,
                      std::int64_t first, std::int64_t last);
void damo_run_fibers(damo::cpu_backend::ThreadFunction thread, void* const* arguments, const damo::cpu_backend::LaunchFrame* frame,
                     std::int64_t first, std::int64_t last);
/// 64-aligned; lives until the block ends.
void* damo_coroutine_memory(std::size_t bytes);
std::uint64_t damo_wait_on_fiber(std::int32_t kind, std::uint32_t mask, std::uint64_t value, std::int32_t operand);
/// The thread that runs, for functions that were not inlined.
damo::cpu_backend::ThreadState* damo_current_thread();
void damo_enter_thread(damo::cpu_backend::ThreadState* state);
}
