#include "runtime/null/null_backend.hpp"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/kernel/cache.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

TEST(NullBackend, CountsLaunchesAndRunsNothing) {
  const damo::testing::ScratchDirectory scratch;
  const damo::testing::Environment directory("DAMO_CACHE_DIR", scratch.path());
  NullBackend backend;
  const auto module = backend.cache().get({.source = "this is no program", .kernels = {"anything"}});
  const Kernel kernel(module->kernel("anything"), Stream::default_of(Device(&backend)));
  float value = 1;
  for (int i = 0; i < 3; ++i) kernel.launch({.grid = {100}, .block = {256}}, &value, 7);
  EXPECT_EQ(backend.launches(), 3u);
  EXPECT_EQ(value, 1.0f);
  EXPECT_EQ(module->global("anything").first, nullptr);
}

TEST(NullBackend, CompilesASourceToItsBytes) {
  NullBackend backend;
  const CompiledCode code = backend.compiler().compile({.source = "text"});
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(code.bytes.data()), code.bytes.size()), "text");
}

TEST(NullBackend, RefusesALaunchBeyondTheLimits) {
  NullBackend backend;
  const Kernel kernel(backend.load({}, "m")->kernel("k"), Stream::default_of(Device(&backend)));
  EXPECT_THROW(kernel.launch({.block = {1025}}), DeviceError);
  EXPECT_EQ(backend.launches(), 0u);
}

TEST(NullBackend, CopiesOverlappingMemory) {
  NullBackend backend;
  std::vector<int> values = {1, 2, 3, 4, 5};
  backend.copy(values.data() + 1, values.data(), 4 * sizeof(int), CopyKind::kDeviceToDevice, nullptr);
  EXPECT_EQ(values, (std::vector<int>{1, 1, 2, 3, 4}));
  backend.copy(nullptr, nullptr, 0, CopyKind::kDeviceToDevice, nullptr);
}

template <class T>
void expect_filled(T value) {
  NullBackend backend;
  std::vector<std::byte> memory(sizeof(T) * 10 + 2, std::byte{1});
  for (const std::size_t offset : {std::size_t{0}, std::size_t{1}}) {  // 1: no address of a T
    backend.fill(memory.data() + offset, &value, sizeof(T), 10, nullptr);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(std::memcmp(memory.data() + offset + sizeof(T) * i, &value, sizeof(T)), 0);
    EXPECT_EQ(memory.back(), std::byte{1});
  }
}

TEST(NullBackend, FillsWithElementsOfEachSize) {
  expect_filled<std::uint8_t>(0xab);
  expect_filled<std::uint16_t>(0xabcd);
  expect_filled<float>(1.5f);
  expect_filled<double>(-2.25);
}

TEST(NullBackend, AlignsItsMemory) {
  NullBackend backend;
  for (const std::size_t bytes : {0u, 1u, 100u, 5000u, 8u << 20, (8u << 20) + 1}) {
    void* const memory = backend.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    std::memset(memory, 1, bytes);
    backend.release(memory);
  }
  EXPECT_EQ(backend.allocate(std::size_t{1} << 60), nullptr);
  EXPECT_EQ(backend.allocate(SIZE_MAX), nullptr);
}

}  // namespace
}  // namespace damo
