#include "runtime/cpu/worker_pool.hpp"

#include <tbb/global_control.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/cpu/kernel_guard.hpp"

namespace damo::cpu_backend {
namespace {

int chosen_threads(int threads) {
  if (threads > 0) return threads;
  const std::string text = environment("DAMO_NUM_THREADS");
  if (text.empty()) return tbb::info::default_concurrency();
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || value < 1 || value > 4096) {
    throw OptionError("DAMO_NUM_THREADS is '" + text + "', which is no number of threads", "give a number from 1 to 4096");
  }
  return static_cast<int>(value);
}

/// This thread's shared memory. It grows and stays: kernels of one program ask for the same sizes again.
void* shared_memory(std::size_t bytes) {
  constexpr std::size_t kAlignment = 64;
  thread_local std::vector<std::byte> memory;
  if (bytes == 0) return nullptr;
  if (memory.size() < bytes + kAlignment) memory.resize(bytes + kAlignment);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data());
  return reinterpret_cast<void*>((begin + kAlignment - 1) / kAlignment * kAlignment);
}

// A child of fork() has none of its parent's threads, and oneTBB would wait for them for ever.
std::atomic<bool> has_workers = false, lost_workers = false;

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { lost_workers = lost_workers || has_workers; });
  });
}

void tell_of_lost_workers() {
  static std::atomic<bool> told = false;
  if (told.exchange(true)) return;
  log(LogLevel::kInfo, "this process is a child of fork(), and its parent computed on the CPU's threads, which a child does not have: "
                       "kernels run on one thread; fork before the first large call, or start a new program, for more");
}

struct Region {
  KernelEntry kernel;
  void* const* arguments;
  const LaunchFrame& frame;
  std::size_t shared_bytes;

  void run(std::int64_t first, std::int64_t last) const {
    const auto* report = static_cast<const LaunchReport*>(frame.report);
    if (report && report->failed()) return;  // the launch is lost already
    LaunchFrame own = frame;
    own.shared = shared_memory(shared_bytes);
    if (!frame.report) return kernel(arguments, &own, first, last);
    KernelGuard::call(*static_cast<LaunchReport*>(frame.report), [&] { kernel(arguments, &own, first, last); });
  }
};

}  // namespace

namespace {

/// How shares of a launch and the thread that waits for them follow each other, for GCC's thread sanitizer: oneTBB orders them, but is not compiled for the sanitizer,
/// which would take all that two of them touch for a race. Elsewhere nothing.
class SharesOrder {
 public:
#if defined(__SANITIZE_THREAD__)
  SharesOrder() { begun_.store(1, std::memory_order_release); }
  void begin_share() const { static_cast<void>(begun_.load(std::memory_order_acquire)); }
  void end_share() const { ended_.fetch_add(1, std::memory_order_release); }
  void wait() const { static_cast<void>(ended_.load(std::memory_order_acquire)); }

 private:
  std::atomic<int> begun_;
  mutable std::atomic<int> ended_ = 0;  // another one, so that shares follow the launch and not each other
#else
  void begin_share() const {}
  void end_share() const {}
  void wait() const {}
#endif
};

}  // namespace

struct WorkerPool::Arena {
  explicit Arena(int threads) : arena(threads) {
    // oneTBB keeps to the hardware's number unless told otherwise.
    if (threads > tbb::info::default_concurrency()) limit.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
  std::optional<tbb::global_control> limit;
  tbb::task_arena arena;
};

WorkerPool::WorkerPool(int threads) : threads_(chosen_threads(threads)), arena_(std::make_unique<Arena>(threads_)) {
  watch_forks();
}
WorkerPool::~WorkerPool() = default;

void WorkerPool::run(KernelEntry kernel, void* const* arguments, const LaunchFrame& frame, std::int64_t blocks,
                     std::int64_t blocks_per_share, std::size_t shared_bytes) const {
  if (blocks <= 0) return;
  const Region region{kernel, arguments, frame, shared_bytes};
  const std::int64_t worthwhile = blocks / std::max<std::int64_t>(blocks_per_share, 1);
  const std::int64_t shares = std::min<std::int64_t>(threads_, worthwhile);
  if (shares < 2) return region.run(0, blocks);
  if (lost_workers.load(std::memory_order_relaxed)) {
    tell_of_lost_workers();
    return region.run(0, blocks);
  }
  has_workers.store(true, std::memory_order_relaxed);
  const SharesOrder order;
  // One task a share, dealt out once: the shares are equal, so balancing would only cost.
  arena_->arena.execute([&] {
    tbb::parallel_for(
        std::int64_t{0}, shares, std::int64_t{1},
        [&](std::int64_t share) {
          const std::int64_t each = blocks / shares, rest = blocks % shares;
          const std::int64_t first = share * each + std::min(share, rest);
          order.begin_share();
          region.run(first, first + each + (share < rest));
          order.end_share();
        },
        tbb::static_partitioner());
  });
  order.wait();
}

}  // namespace damo::cpu_backend
