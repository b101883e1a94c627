#include "emulated_gpu/gpu/clusters.hpp"

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/cpu/cpu_module.hpp"
#include "runtime/cpu/kernel_guard.hpp"
#include "runtime/cpu/launch_report.hpp"

namespace damo::emulated_gpu {
namespace {

constexpr std::size_t kMostBlocks = 16;
constexpr std::size_t kAlignment = 128;

struct Cluster {
  explicit Cluster(int blocks) : blocks(blocks) {}
  const int blocks;
  std::mutex mutex;
  std::condition_variable changed;
  std::array<std::uint64_t, kMostBlocks> places{};
  int waiting = 0, rounds = 0;
  bool has_faulted = false;  // then nobody waits any longer

  template <class Done>
  void wait(std::unique_lock<std::mutex>& lock, Done done) {
    changed.wait(lock, [&] { return has_faulted || done(); });
  }
  void wait_for_all() {
    std::unique_lock lock(mutex);
    const int round = rounds;
    if (++waiting == blocks) {
      waiting = 0, ++rounds;
      changed.notify_all();
    } else {
      wait(lock, [&] { return rounds != round; });
    }
  }
};
thread_local Cluster* cluster = nullptr;
thread_local std::size_t own_number = 0;

/// An mbarrier of one arrival a phase, in its 64 bits.
struct Meeting {
  std::int32_t bytes;  // that are expected and have not come; below 0 if they came first
  std::uint32_t has_arrived : 1, phases : 31;

  void complete() {
    if (has_arrived != 0 && bytes == 0) has_arrived = 0, ++phases;
  }
};
static_assert(sizeof(Meeting) == 8);

}  // namespace

std::uint64_t call_cluster(std::uint32_t what, std::uint64_t a, std::uint64_t b) {
  if (static_cast<ClusterCall>(what) == ClusterCall::kWait) return cluster->wait_for_all(), 0;
  std::unique_lock lock(cluster->mutex);
  const auto meeting = [a]() -> Meeting& { return *reinterpret_cast<Meeting*>(a); };
  switch (static_cast<ClusterCall>(what)) {
    case ClusterCall::kArrive: cluster->places.at(own_number) = a; break;
    case ClusterCall::kAddress: return cluster->places.at(a) + b;
    case ClusterCall::kExpect:
      meeting().bytes += static_cast<std::int32_t>(b), meeting().has_arrived = 1;
      meeting().complete();
      break;
    case ClusterCall::kSent:
      meeting().bytes -= static_cast<std::int32_t>(b);
      meeting().complete();
      break;
    case ClusterCall::kMeet:
      cluster->wait(lock, [&] { return (meeting().phases & 1) != b; });
      return 0;
    case ClusterCall::kWait: break;
  }
  cluster->changed.notify_all();
  return 0;
}

bool run_clusters(const Launch& launch) {
  const auto& kernel = static_cast<const CpuKernel&>(*launch.kernel);
  cpu_backend::LaunchReport report(&kernel.object());
  cpu_backend::LaunchFrame frame{};
  for (int axis = 0; axis < 3; ++axis) {
    frame.grid[axis] = static_cast<std::uint32_t>(launch.config.grid[axis]);
    frame.block[axis] = static_cast<std::uint32_t>(launch.config.block[axis]);
  }
  frame.shared_bytes = static_cast<std::uint32_t>(launch.config.shared_bytes);
  frame.report = &report;
  const std::vector<void*> arguments = launch.pointers();
  const std::size_t shared_bytes = (kernel.static_shared_bytes + launch.config.shared_bytes + 2 * kAlignment) / kAlignment * kAlignment;
  Cluster all(launch.cluster);
  const auto run_blocks = [&](int number) {
    cluster = &all;
    own_number = static_cast<std::size_t>(number);
    const std::unique_ptr<void, void (*)(void*)> shared(std::aligned_alloc(kAlignment, shared_bytes), std::free);
    cpu_backend::LaunchFrame own = frame;
    own.shared = shared.get();
    for (std::int64_t block = number; block < launch.config.grid.count() && !report.failed(); block += launch.cluster) {
      cpu_backend::KernelGuard::call(report, [&] { kernel.entry(arguments.data(), &own, block, block + 1); });
      if (report.failed()) {
        const std::lock_guard lock(all.mutex);
        all.has_faulted = true;
        all.changed.notify_all();
      }
      all.wait_for_all();  // the next cluster is another one
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int number = 0; number < launch.cluster; ++number) threads.emplace_back(run_blocks, number);
  }
  if (report.failed()) std::fprintf(stderr, "emulated GPU: kernel '%s': %s\n", kernel.name().c_str(), report.what().c_str());
  return !report.failed();
}

}  // namespace damo::emulated_gpu
