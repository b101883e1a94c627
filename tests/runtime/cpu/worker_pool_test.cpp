#include "runtime/cpu/worker_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <damo/error.hpp>

#include "support/scratch_directory.hpp"

namespace damo::cpu_backend {
namespace {

struct Seen {
  std::mutex lock;
  std::vector<int> visits;
  std::set<std::thread::id> threads;
  std::set<void*> shared;
  int calls = 0;
};

void count_visits(void* const* arguments, const LaunchFrame* frame, std::int64_t first, std::int64_t last) {
  Seen& seen = *static_cast<Seen*>(arguments[0]);
  const std::lock_guard guard(seen.lock);
  for (std::int64_t i = first; i < last; ++i) ++seen.visits[i];
  seen.threads.insert(std::this_thread::get_id());
  seen.shared.insert(frame->shared);
  ++seen.calls;
}

void nothing(void* const*, const LaunchFrame*, std::int64_t, std::int64_t) {}

TEST(WorkerPool, RunsEveryBlockOnce) {
  for (const int threads : {1, 2, 3, 7}) {
    const WorkerPool pool(threads);
    for (const std::int64_t blocks : {0, 1, 2, 5, 100, 1001}) {
      Seen seen;
      seen.visits.assign(blocks, 0);
      void* arguments[] = {&seen};
      pool.run(count_visits, arguments, LaunchFrame{}, blocks);
      EXPECT_EQ(seen.visits, std::vector<int>(blocks, 1));
      EXPECT_LE(seen.calls, threads);
    }
  }
}

TEST(WorkerPool, RunsInAChildOfAProcessThatComputed) {
  const WorkerPool pool(3);
  Seen seen;
  seen.visits.assign(1000, 0);
  void* arguments[] = {&seen};
  pool.run(count_visits, arguments, LaunchFrame{}, 1000);
  const int status = damo::testing::in_child([&] {
    alarm(60);  // oneTBB would wait for its parent's threads
    pool.run(count_visits, arguments, LaunchFrame{}, 1000);
    WorkerPool(2).run(count_visits, arguments, LaunchFrame{}, 1000);
    if (seen.visits != std::vector<int>(1000, 3)) return 1;
    std::exit(0);  // what ends with the process must not wait either
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(seen.visits, std::vector<int>(1000, 1));
}

TEST(WorkerPool, RunsSmallWorkOnTheCaller) {
  const WorkerPool pool(4);
  Seen seen;
  seen.visits.assign(10, 0);
  void* arguments[] = {&seen};
  pool.run(count_visits, arguments, LaunchFrame{}, 10, /*blocks_per_share=*/6);
  EXPECT_EQ(seen.calls, 1);
  EXPECT_EQ(seen.threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(WorkerPool, GivesEachWorkerSharedMemoryOfItsOwn) {
  const WorkerPool pool(2);
  Seen seen;
  seen.visits.assign(64, 0);
  void* arguments[] = {&seen};
  pool.run(count_visits, arguments, LaunchFrame{}, 64, 1, 1000);
  EXPECT_EQ(seen.shared.size(), seen.threads.size());
  for (void* memory : seen.shared) {
    EXPECT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
  }
}

TEST(WorkerPool, ServesSeveralCallersAtOnce) {
  const WorkerPool pool(2);
  std::atomic<int> right = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Seen seen;
        seen.visits.assign(33, 0);
        void* arguments[] = {&seen};
        pool.run(count_visits, arguments, LaunchFrame{}, 33);
        right += seen.visits == std::vector<int>(33, 1);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(right, 800);
}

TEST(WorkerPool, TakesItsSizeFromTheEnvironment) {
  setenv("DAMO_NUM_THREADS", "3", 1);
  EXPECT_EQ(WorkerPool().threads(), 3);
  setenv("DAMO_NUM_THREADS", "many", 1);
  try {
    WorkerPool pool;
    FAIL();
  } catch (const damo::Error& error) {
    EXPECT_STREQ(error.what(), "DAMO_NUM_THREADS is 'many', which is no number of threads\n  give a number from 1 to 4096");
  }
  unsetenv("DAMO_NUM_THREADS");
  EXPECT_GE(WorkerPool().threads(), 1);
  EXPECT_EQ(WorkerPool(5).threads(), 5);
}

TEST(WorkerPool, PrintsTheCostOfARegion) {
  const WorkerPool pool(2);
  const auto cost = [&](std::int64_t blocks_per_share) {
    constexpr int kTimes = 20000;
    for (int i = 0; i < 100; ++i) pool.run(nothing, nullptr, LaunchFrame{}, 64, blocks_per_share);
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < kTimes; ++i) pool.run(nothing, nullptr, LaunchFrame{}, 64, blocks_per_share);
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count() / kTimes;
  };
  const double inlined = cost(64), spread = cost(1);
  std::printf("[ figure ] a region on the caller %.3f us, on 2 threads %.2f us\n", inlined, spread);
  EXPECT_LT(inlined, 1.0);
}

}  // namespace
}  // namespace damo::cpu_backend
