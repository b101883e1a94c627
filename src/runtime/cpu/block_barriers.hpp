// Barriers of a block: what happens once its threads wait, and what to say if nothing can happen any more.
#pragma once
#include <cstddef>
#include <span>

#include "runtime/cpu/launch_report.hpp"
#include "runtime/cpu/kernel_abi.hpp"

namespace damo::cpu_backend {

/// Something of each thread of a block, in an array of its own or a member of an array of structures.
template <class T>
class Column {
 public:
  explicit Column(T* first, std::size_t stride = sizeof(T)) : first_(reinterpret_cast<std::byte*>(first)), stride_(stride) {}
  T& operator[](std::size_t thread) const { return *reinterpret_cast<T*>(first_ + thread * stride_); }

 private:
  std::byte* first_;
  std::size_t stride_;
};

/// What all threads of a block wait for: see ThreadState.
struct BlockWaits {
  explicit BlockWaits(std::span<ThreadState> threads)
      : kinds(&threads[0].kind, sizeof(ThreadState)), values(&threads[0].value, sizeof(ThreadState)), operands(&threads[0].operand, sizeof(ThreadState)), threads(threads.size()) {}
  BlockWaits(Wait* kinds, std::uint64_t* values, std::int32_t* operands, std::size_t threads) : kinds(kinds), values(values), operands(operands), threads(threads) {}

  Column<Wait> kinds;
  Column<std::uint64_t> values;
  Column<std::int32_t> operands;
  std::size_t threads;
};

/// Finishes __syncthreads and its forms if all threads that have not exited stand there, else every named barrier that
/// has its threads: gives them their results, and they wait for nothing any more. True if any was finished.
bool finish_barriers(const BlockWaits& waits);

/// Threads that wait for each other for ever: names two of them, and what each waits for.
void report_stuck(std::span<const ThreadState> threads, LaunchReport& report);

}  // namespace damo::cpu_backend
