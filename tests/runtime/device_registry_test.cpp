// The default device is chosen once a process, so each of these tests runs in a child.
#include "runtime/device_registry.hpp"

#include <algorithm>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "support/errors.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using damo::testing::error_of;
using damo::testing::in_child;
using ::testing::HasSubstr;

bool has_gpu() {
  const auto all = devices();
  return std::any_of(all.begin(), all.end(), [](Device device) { return device.kind() == DeviceKind::kCuda; });
}

std::string message_of(std::string_view name) {
  return error_of<DeviceError>([&] { (void)Device(name); });
}

TEST(DeviceRegistry, MakesADeviceOnceForAllThreads) {
  std::vector<Backend*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (auto& backend : seen) threads.emplace_back([&] { backend = &backend_named("null"); });
  }
  for (Backend* backend : seen) EXPECT_EQ(backend, seen[0]);
}

TEST(DeviceRegistry, NamesTheDevicesThereAreForAnUnknownName) {
  for (const char* name : {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:0x", "CPU", ""}) {
    const std::string message = message_of(name);
    EXPECT_THAT(message, HasSubstr("no device '" + std::string(name) + "': the name is not known; there are: "))
        << name;
    EXPECT_THAT(message, HasSubstr("null\n  names are cpu, cuda, cuda:1 and null"));
  }
}

TEST(DeviceRegistry, SaysWhyThereIsNoGpu) {
  if (has_gpu()) GTEST_SKIP() << "needs a machine without a GPU";
  const std::string message = message_of("cuda");
  EXPECT_THAT(message, HasSubstr("no device 'cuda:0': "));
  EXPECT_THAT(message, HasSubstr("; there are: "));
  EXPECT_EQ(message_of("cuda:0"), message);
}

TEST(DeviceRegistry, RefusesAGpuBeyondTheLastOnCuda) {
  if (!has_gpu()) GTEST_SKIP() << "needs a GPU: none is usable";
  EXPECT_THAT(message_of("cuda:99"), HasSubstr("no device 'cuda:99': this machine has "));
  EXPECT_EQ(Device("cuda").name(), "cuda:0");
}

TEST(DeviceRegistry, ListsGpusFirstAndNeverTheNullDevice) {
  const auto all = devices();
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_NE(all[i].kind(), DeviceKind::kNull);
    if (i > 0) EXPECT_FALSE(all[i].kind() == DeviceKind::kCuda && all[i - 1].kind() == DeviceKind::kCpu);
  }
  if (DAMO_HAS_CPU) EXPECT_EQ(all.back().name(), "cpu");
}

TEST(DeviceRegistry, TakesTheDefaultFromTheEnvironment) {
  EXPECT_EQ(in_child([] {
              const Environment chosen("DAMO_DEVICE", "null");
              return Device().name() == "null" ? 0 : 1;
            }),
            0);
}

TEST(DeviceRegistry, SaysWhereAWrongDefaultComesFrom) {
  EXPECT_EQ(in_child([] {
              const Environment chosen("DAMO_DEVICE", "tpu");
              try {
                Device device;
              } catch (const DeviceError& error) {
                return std::string(error.what()).find("no device 'tpu'") == 0 &&
                               error.parts().where == "DAMO_DEVICE is 'tpu'"
                           ? 0
                           : 2;
              }
              return 1;
            }),
            0);
}

TEST(DeviceRegistry, UsesTheCpuWithOneLineWhereThereIsNoGpuOnCpu) {
  if (!DAMO_HAS_CPU) GTEST_SKIP() << "needs the CPU back end";
  if (has_gpu()) GTEST_SKIP() << "needs a machine without a GPU";
  EXPECT_EQ(in_child([] {
              const Environment chosen("DAMO_DEVICE", nullptr);
              std::vector<std::string> lines;
              set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
              if (Device().name() != "cpu" || Device().name() != "cpu") return 1;
              if (lines.size() != 1) return 2;
              return lines[0].starts_with("no GPU: ") && lines[0].ends_with("; using the CPU") ? 0 : 3;
            }),
            0);
}

}  // namespace
}  // namespace damo
