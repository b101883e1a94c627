#include "runtime/memory/pinned_pool.hpp"

#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "support/counting_backend.hpp"

namespace damo {
namespace {

TEST(PinnedPool, HandsABlockOfTheSameSizeAndOptionsOutAgain) {
  damo::testing::CountingBackend backend;
  PinnedPool& pool = backend.pinned_pool();
  void* const first = pool.allocate(5000, {});
  pool.release(first, 5000, {});
  void* const mapped = pool.allocate(5000, {.mapped = true});
  void* const larger = pool.allocate(9000, {});
  EXPECT_NE(mapped, first);
  EXPECT_NE(larger, first);
  EXPECT_EQ(pool.allocate(8192, {}), first) << "the power of two that 5000 is in";
  EXPECT_EQ(pool.statistics().device_allocations, 3u);
  EXPECT_EQ(pool.statistics().allocations, 4u);
  pool.release(first, 8192, {});
  pool.release(mapped, 5000, {.mapped = true});
  pool.release(larger, 9000, {});
  pool.free_cache();
}

TEST(PinnedPool, CountsBytesAndGivesItsCacheBack) {
  damo::testing::CountingBackend backend;
  const Device device(&backend);
  {
    const PinnedMemory small(1, device), large(100000, device);
    EXPECT_EQ(device.pinned_memory().in_use_bytes, 4096u + 131072u);
  }
  EXPECT_EQ(device.pinned_memory().in_use_bytes, 0u);
  EXPECT_EQ(device.pinned_memory().cached_bytes, 4096u + 131072u);
  EXPECT_EQ(device.pinned_memory().peak_bytes, 4096u + 131072u);
  device.free_cache();
  EXPECT_EQ(device.pinned_memory().cached_bytes, 0u);
}

TEST(PinnedPool, RefusesWhatNoMachineHas) {
  damo::testing::CountingBackend backend;
  EXPECT_THROW(backend.pinned_pool().allocate(SIZE_MAX, {}), OutOfMemoryError);
  EXPECT_THROW(backend.pinned_pool().allocate(std::size_t{1} << 60, {}), OutOfMemoryError);
  EXPECT_EQ(backend.pinned_pool().statistics().in_use_bytes, 0u);
  EXPECT_EQ(backend.pinned_pool().allocate(0, {}), nullptr);
}

}  // namespace
}  // namespace damo
