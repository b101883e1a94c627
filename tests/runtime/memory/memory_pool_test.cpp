#include "runtime/memory/memory_pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <damo/log.hpp>

#include "support/host_backend.hpp"

namespace damo {
namespace {

using ::testing::AllOf;
using testing::error_of;
using ::testing::HasSubstr;
using testing::HostBackend;

constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

TEST(MemoryPool, GivesMemoryJustReleasedToTheNextRequestOfItsSize) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  void* first = pool.allocate(1000);
  pool.release(first, 1000);
  EXPECT_EQ(pool.allocate(600), first);  // 513 to 1024 bytes are one class
  void* second = pool.allocate(1000);
  EXPECT_NE(second, first);
  EXPECT_EQ(backend.allocations, 2);
  pool.release(first, 600);
  pool.release(second, 1000);
}

TEST(MemoryPool, KeepsOtherSizesApart) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  void* small = pool.allocate(512);
  pool.release(small, 512);
  void* larger = pool.allocate(513);
  EXPECT_NE(larger, small);
  pool.release(larger, 513);
}

// What a class takes shows in in_use_bytes; the bounds are those that memory_pool.hpp promises.
TEST(MemoryPool, WastesAtMostAnEighth) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  std::size_t last = 0;
  for (std::size_t bytes = 1; bytes < 40 * kMiB; bytes += bytes < 2 * kMiB ? 509 : 65521) {
    void* memory = pool.allocate(bytes);
    const std::size_t taken = pool.statistics().in_use_bytes;
    EXPECT_GE(taken, bytes);
    EXPECT_GE(taken, last);
    EXPECT_EQ(taken % 512, 0u);
    EXPECT_LE(taken - bytes, std::max<std::size_t>(511, bytes <= kMiB ? 0 : bytes / 8)) << bytes;
    last = taken;
    pool.release(memory, bytes);
  }
}

TEST(MemoryPool, TakesSizesAtTheEdgesOfClassesAsTheyAre) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  for (std::size_t bytes :
       {std::size_t{512}, kMiB - 512, kMiB, kMiB + kMiB / 8, 2 * kMiB, 15 * kMiB, 16 * kMiB, 18 * kMiB}) {
    void* memory = pool.allocate(bytes);
    EXPECT_EQ(pool.statistics().in_use_bytes, bytes);
    pool.release(memory, bytes);
  }
}

TEST(MemoryPool, GivesNullForNoBytes) {
  HostBackend backend;
  EXPECT_EQ(backend.pool().allocate(0), nullptr);
  backend.pool().release(nullptr, 0);
  EXPECT_EQ(backend.pool().statistics().allocations, 0u);
}

TEST(MemoryPool, CountsWhatItHolds) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  void* a = pool.allocate(4 * kKiB);
  void* b = pool.allocate(8 * kKiB);
  pool.release(a, 4 * kKiB);
  MemoryStatistics now = pool.statistics();
  EXPECT_EQ(now.in_use_bytes, 8 * kKiB);
  EXPECT_EQ(now.cached_bytes, 4 * kKiB);
  EXPECT_EQ(now.peak_bytes, 12 * kKiB);
  EXPECT_EQ(now.limit_bytes, 0u);
  pool.reset_peak();
  EXPECT_EQ(pool.statistics().peak_bytes, 8 * kKiB);
  a = pool.allocate(4 * kKiB);
  now = pool.statistics();
  EXPECT_EQ(now.peak_bytes, 12 * kKiB);
  EXPECT_EQ(now.allocations, 3u);
  EXPECT_EQ(now.device_allocations, 2u);
  pool.release(a, 4 * kKiB);
  pool.release(b, 8 * kKiB);
}

TEST(MemoryPool, WaitsForTheDeviceBeforeItGivesTheCacheBack) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  void* kept = pool.allocate(100);
  pool.release(pool.allocate(2000), 2000);
  pool.release(pool.allocate(3 * kMiB), 3 * kMiB);
  pool.free_cache();
  EXPECT_EQ(backend.synchronisations, 1);
  EXPECT_EQ(backend.releases, 2);
  EXPECT_EQ(backend.held, 512u);
  EXPECT_EQ(pool.statistics().cached_bytes, 0u);
  pool.free_cache();  // nothing is cached, so there is nothing to wait for
  EXPECT_EQ(backend.synchronisations, 1);
  pool.release(kept, 100);
}

TEST(MemoryPool, FreesItsCacheAndTriesAgainWhenTheDeviceHasNoneLeft) {
  HostBackend backend;
  backend.fail_after(10 * kMiB);
  std::vector<std::string> lines;
  set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  MemoryPool& pool = backend.pool();
  pool.release(pool.allocate(6 * kMiB), 6 * kMiB);
  void* memory = pool.allocate(8 * kMiB);
  set_log_sink({});
  EXPECT_NE(memory, nullptr);
  EXPECT_EQ(pool.statistics().cached_bytes, 0u);
  EXPECT_THAT(lines, ::testing::ElementsAre(HasSubstr("6.00 MiB of cached memory given back to find 8.00 MiB")));
  pool.release(memory, 8 * kMiB);
}

TEST(MemoryPool, SaysWhoAskedForHowMuchWhenThereIsNoMemory) {
  HostBackend backend("cuda:7");
  backend.fail_after(10 * kMiB);
  MemoryPool& pool = backend.pool();
  void* held = pool.allocate(6 * kMiB);
  const std::string text = error_of<OutOfMemoryError>([&] { pool.allocate(8 * kMiB, "matmul"); });
  EXPECT_THAT(text, AllOf(HasSubstr("cuda:7: out of memory: 8.00 MiB asked for by matmul"),
                          HasSubstr("6.00 MiB in use by arrays, 0 B cached, no limit set"),
                          HasSubstr("the device has 10.00 MiB, 4.00 MiB free"), HasSubstr("smaller batches")));
  pool.release(held, 6 * kMiB);
}

TEST(MemoryPool, WorksOnAfterAFailure) {
  HostBackend backend;
  backend.fail_after(10 * kMiB);
  MemoryPool& pool = backend.pool();
  EXPECT_THROW(pool.allocate(11 * kMiB), OutOfMemoryError);
  EXPECT_EQ(pool.statistics().in_use_bytes, 0u);
  EXPECT_EQ(pool.statistics().allocations, 0u);
  void* memory = pool.allocate(10 * kMiB);
  EXPECT_NE(memory, nullptr);
  pool.release(memory, 10 * kMiB);
}

TEST(MemoryPool, RefusesSizesThatNoDeviceHas) {
  HostBackend backend;
  EXPECT_THROW(backend.pool().allocate(SIZE_MAX), OutOfMemoryError);
  EXPECT_THROW(backend.pool().allocate(std::size_t{1} << 63), OutOfMemoryError);
  EXPECT_EQ(backend.allocations, 0);
}

TEST(MemoryPool, KeepsToTheLimit) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  pool.set_limit(4 * kMiB);
  void* held = pool.allocate(3 * kMiB);
  const std::string text = error_of<OutOfMemoryError>([&] { pool.allocate(2 * kMiB, "conv2d"); });
  EXPECT_THAT(text,
              AllOf(HasSubstr("memory limit reached: 2.00 MiB asked for by conv2d"),
                    HasSubstr("3.00 MiB in use by arrays, 0 B cached, limit 4.00 MiB"), HasSubstr("set_memory_limit")));
  void* fits = pool.allocate(kMiB);
  EXPECT_NE(fits, nullptr);
  pool.set_limit(0);
  void* more = pool.allocate(2 * kMiB);
  EXPECT_NE(more, nullptr);
  pool.release(held, 3 * kMiB);
  pool.release(fits, kMiB);
  pool.release(more, 2 * kMiB);
}

TEST(MemoryPool, LimitsOneDeviceAlone) {
  HostBackend first("first"), second("second");
  first.pool().set_limit(kMiB);
  void* const memory = second.pool().allocate(4 * kMiB);
  EXPECT_THAT(error_of<OutOfMemoryError>([&] { first.pool().allocate(2 * kMiB); }), HasSubstr("first: memory limit reached: 2.00 MiB asked for; 0 B in use by arrays"));
  EXPECT_EQ(second.pool().statistics().in_use_bytes, 4 * kMiB);
  EXPECT_EQ(second.pool().statistics().limit_bytes, 0u);
  EXPECT_EQ(first.pool().statistics().in_use_bytes, 0u);
  second.pool().release(memory, 4 * kMiB);
}

TEST(MemoryPool, GivesCachedMemoryBackBeforeALimitIsReached) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  pool.set_limit(4 * kMiB);
  pool.release(pool.allocate(3 * kMiB), 3 * kMiB);
  void* memory = pool.allocate(2 * kMiB);
  EXPECT_EQ(backend.held, 2 * kMiB);
  pool.release(memory, 2 * kMiB);
}

TEST(MemoryPool, HoldsItsCacheToTwiceWhatWasInUse) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  std::size_t most = 0;
  for (std::size_t bytes = 64 * kMiB; bytes <= 512 * kMiB; bytes += bytes / 8) {  // never the same size twice
    pool.release(pool.allocate(bytes), bytes);
    most = std::max<std::size_t>(most, backend.held);
  }
  EXPECT_LE(most, (2 * 512 + 64 + 512) * kMiB);
  EXPECT_GE(most, 1024 * kMiB);  // the sum of all sizes is far beyond, so the bound was at work
}

TEST(MemoryPool, FillsNewMemoryWithPoisonIfAsked) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  pool.set_poison(true);
  auto* bytes = static_cast<std::uint8_t*>(pool.allocate(700));
  EXPECT_TRUE(std::all_of(bytes, bytes + 700, [](std::uint8_t byte) { return byte == 0xFF; }));
  std::fill_n(bytes, 700, std::uint8_t{1});
  pool.release(bytes, 700);
  bytes = static_cast<std::uint8_t*>(pool.allocate(700));  // used memory too
  EXPECT_TRUE(std::all_of(bytes, bytes + 700, [](std::uint8_t byte) { return byte == 0xFF; }));
  pool.release(bytes, 700);
}

TEST(MemoryPool, ReadsPoisonFromTheEnvironment) {
  ::setenv("DAMO_POISON", "1", 1);
  HostBackend poisoned;
  ::setenv("DAMO_POISON", "0", 1);
  HostBackend plain;
  ::unsetenv("DAMO_POISON");
  poisoned.pool().release(poisoned.pool().allocate(10), 10);
  plain.pool().release(plain.pool().allocate(10), 10);
  EXPECT_EQ(poisoned.fills, 1);
  EXPECT_EQ(plain.fills, 0);
}

TEST(MemoryPool, GivesEachOfSeveralThreadsMemoryOfItsOwn) {
  HostBackend backend;
  MemoryPool& pool = backend.pool();
  std::atomic<int> clashes = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 2000; ++round) {
        const std::size_t bytes = static_cast<std::size_t>(round % 7 + 1) * 512;
        auto* memory = static_cast<int*>(pool.allocate(bytes));
        std::fill_n(memory, bytes / sizeof(int), thread);
        clashes += static_cast<int>(bytes / sizeof(int)) -
                   static_cast<int>(std::count(memory, memory + bytes / sizeof(int), thread));
        pool.release(memory, bytes);
        if (round % 500 == 0) pool.free_cache();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(clashes, 0);
  EXPECT_EQ(pool.statistics().in_use_bytes, 0u);
  EXPECT_EQ(pool.statistics().allocations, 8000u);
  EXPECT_EQ(backend.held, pool.statistics().cached_bytes);
}

TEST(BytesText, ChoosesTheUnit) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(std::size_t{139} << 30), "139.00 GiB");
}

}  // namespace
}  // namespace damo
