// Two processes: the test starts its own program again, with the handle in the environment.
#include <damo/ipc.hpp>

#include <spawn.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/memory.hpp>

#include "support/devices.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Runs the test IpcChild.name in another process; its exit status.
int run_child(const std::string& name, const std::string& device, const std::string& handle) {
  std::vector<std::string> variables = {"IPC_TEST_DEVICE=" + device, "IPC_TEST_HANDLE=" + handle};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("GTEST_")) variables.emplace_back(*variable);
  }
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  std::string program = "/proc/self/exe", filter = "--gtest_filter=IpcChild." + name;
  char* const arguments[] = {program.data(), filter.data(), nullptr};
  pid_t child = 0;
  if (posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environment.data()) != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Task {
  Device device;
  IpcHandle handle;
};
std::optional<Task> task_of_child() {
  const char* const device = std::getenv("IPC_TEST_DEVICE");
  const char* const handle = std::getenv("IPC_TEST_HANDLE");
  if (!device || !handle) return std::nullopt;
  return Task{Device(device), IpcHandle::parse(handle)};
}

TEST(IpcChild, NegatesWhatItIsGiven) {
  const auto task = task_of_child();
  if (!task) GTEST_SKIP() << "runs in the process that IpcOnEachDevice starts";
  const DeviceMemory memory = DeviceMemory::open(task->device, task->handle);
  std::vector<int> values = memory.to_vector<int>();
  for (int& value : values) value = -value;
  memory.copy_from_host(values);
  task->device.synchronize();
}

TEST(IpcChild, FindsTheMemoryGone) {
  const auto task = task_of_child();
  if (!task) GTEST_SKIP() << "runs in the process that IpcOnEachDevice starts";
  EXPECT_THAT(error_of([&] { DeviceMemory::open(task->device, task->handle); }),
              HasSubstr("the memory of another process cannot be opened"));
}

class IpcOnEachDevice : public damo::testing::OnEachDevice {};

TEST_P(IpcOnEachDevice, TwoProcessesSeeTheSameBytes) {
  const DeviceMemory memory = DeviceMemory::shareable(device(), 4 * sizeof(int));
  memory.copy_from_host(std::vector<int>{1, 2, 3, 4});
  EXPECT_EQ(run_child("NegatesWhatItIsGiven", device().name(), (memory + 8).ipc_handle().text()), 0);
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(1, 2, -3, -4));
}

TEST_P(IpcOnEachDevice, MemoryThatWasFreedCannotBeOpened) {
  DeviceMemory memory = DeviceMemory::shareable(device(), std::size_t{4} << 20);
  const std::string handle = memory.ipc_handle().text();
  memory.free();
  EXPECT_EQ(run_child("FindsTheMemoryGone", device().name(), handle), 0);
}

// Before any is taken: where shared memory takes all that the machine has, the system ends processes.
TEST_P(IpcOnEachDevice, MoreThanThereIsIsAnError) {
  EXPECT_THAT(error_of<OutOfMemoryError>([&] { DeviceMemory::shareable(device(), std::size_t{1} << 50); }), HasSubstr("of shareable memory on " + device().name()));
}

DAMO_ON_EACH_DEVICE(IpcOnEachDevice);

TEST(IpcOnCuda, SharesMemoryOfThePool) {
  std::optional<Device> gpu;
  try {
    gpu = Device("cuda");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs a GPU: " << error.what();
  }
  const Array array = Array::from(std::vector<std::int32_t>{1, 2, 3}, *gpu);
  gpu->synchronize();
  EXPECT_EQ(run_child("NegatesWhatItIsGiven", gpu->name(), DevicePointer(array.slice({{1, 3}})).ipc_handle().text()),
            0);
  EXPECT_THAT(array.to_vector<std::int32_t>(), ElementsAre(1, -2, -3));
}

TEST(Ipc, PlainHostMemoryIsTheProcessesOwn) {
  EXPECT_THAT(error_of([] { DeviceMemory(Device("null"), 16).ipc_handle(); }),
              HasSubstr("make it with DeviceMemory::shareable(device, bytes)"));
  EXPECT_THAT(error_of([] { DeviceMemory::shareable(Device("null"), 0); }), HasSubstr("0 bytes"));
}

TEST(Ipc, SharedMemoryCanBeOpenedTwiceAndInAnyOrder) {
  const Device device("null");
  DeviceMemory memory = DeviceMemory::shareable(device, 100);
  const IpcHandle handle = IpcHandle::parse(memory.ipc_handle().text());
  EXPECT_EQ(handle.size(), 100u);
  DeviceMemory first = DeviceMemory::open(device, handle);
  const DeviceMemory second = DeviceMemory::open(device, handle);
  memory.fill(std::uint8_t{3});
  memory.free();
  first.free();
  EXPECT_THAT(second.to_vector<std::uint8_t>(), ::testing::Each(3));
  EXPECT_THAT(error_of([&] { DeviceMemory::open(device, handle); }), HasSubstr("it is gone"));
}

TEST(Ipc, ALyingHandleIsRefused) {
  const Device device("null");
  const DeviceMemory memory = DeviceMemory::shareable(device, 100);
  std::string text = memory.ipc_handle().text();
  text.replace(text.find(":100:"), 5, ":5000:");
  EXPECT_THAT(error_of([&] { DeviceMemory::open(device, IpcHandle::parse(text)); }),
              HasSubstr("it has 100 bytes, the handle speaks of 5000"));
  EXPECT_THAT(error_of([&] { DeviceMemory::open(device, IpcHandle::parse("damo-ipc-1:host:0:10:/etc/passwd")); }),
              HasSubstr("names no shared memory of Damo's"));
  EXPECT_THAT(error_of([&] { DeviceMemory::open(device, IpcHandle::parse("damo-ipc-1:host:0:10:/damo-/../x")); }),
              HasSubstr("names no shared memory of Damo's"));
  EXPECT_THAT(error_of([&] { DeviceMemory::open(device, IpcHandle::parse("damo-ipc-1:cuda:0:10:00")); }),
              HasSubstr("null cannot open it"));
  for (const char* wrong : {"", "x", "damo-ipc-1:host:0:10:", "damo-ipc-1:host:-1:10:/damo-1",
                            "damo-ipc-1:host:0:99999999999999999999:/damo-1", "damo-ipc-2:host:0:10:/damo-1"}) {
    EXPECT_THAT(error_of([&] { IpcHandle::parse(wrong); }), HasSubstr("is no IpcHandle")) << wrong;
  }
}

/// The parent's block outlives a child of fork() that ends, or lets go of what it got from its parent.
TEST(Ipc, AForkedChildTakesNoBlockWithItOnCpu) {
  std::optional<Device> cpu;
  try {
    cpu.emplace("cpu");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  auto memory = DeviceMemory::shareable(*cpu, 8);
  memory.copy_from_host(std::vector<int>{1, 2});
  EXPECT_EQ(damo::testing::in_child([&]() -> int {
    memory.free();
    std::exit(0);
  }), 0);
  EXPECT_EQ(damo::testing::in_child([]() -> int { std::exit(0); }), 0);
  EXPECT_EQ(run_child("NegatesWhatItIsGiven", "cpu", memory.ipc_handle().text()), 0);
  EXPECT_THAT(memory.to_vector<int>(), ElementsAre(-1, -2));
}

/// A profiler's timer interrupts the call that takes the pages.
TEST(Ipc, SignalsAreNoWantOfMemoryOnCpu) {
  std::optional<Device> cpu;
  try {
    cpu.emplace("cpu");
  } catch (const DeviceError& error) {
    GTEST_SKIP() << "needs the CPU back end: " << error.what();
  }
  static std::atomic<int> ticks = 0;
  struct sigaction tick{}, before{};
  tick.sa_handler = [](int) { ++ticks; };
  sigaction(SIGALRM, &tick, &before);
  itimerval often{{0, 500}, {0, 500}}, never{};
  setitimer(ITIMER_REAL, &often, nullptr);
  const std::string none = "nothing thrown";
  std::string error = none;
  for (int i = 0; i < 20 && error == none; ++i) {
    error = error_of([&] { DeviceMemory::shareable(*cpu, std::size_t{24} << 20); });
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(error, none);
  EXPECT_GT(ticks, 0);
}

}  // namespace
}  // namespace damo
