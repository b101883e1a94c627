#include "runtime/exec/profile.hpp"

#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/exec/executor.hpp"
#include "support/test_ops.hpp"

namespace damo {
namespace {

using damo::testing::CallbackOp;

TEST(ProfileRecorder, MeasuresEachOfSeveralThreadsByItself) {
  constexpr int kThreads = 4, kCalls = 10;
  static constexpr double kMilliseconds = 5;
  const Device device("null");
  const Variable x = vector("x");
  const auto slow = make_op<CallbackOp>("slow", [](Cell&, Cell&) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kMilliseconds));
  });
  Executor executor(FunctionGraph(std::vector{x}, std::vector<Variable>{slow(x)}), device, true);
  const Array input = Array::zeros({4}, float32, device);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      std::this_thread::sleep_for(std::chrono::milliseconds(i));  // so that one begins while others run
      for (int k = 0; k < kCalls; ++k) executor.call(std::vector{input});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Profile profile = executor.profile();
  ASSERT_EQ(profile.rows.size(), 1u);
  EXPECT_EQ(profile.rows[0].calls, std::uint64_t{kThreads * kCalls});
  EXPECT_GE(profile.rows[0].milliseconds, kThreads * kCalls * kMilliseconds);
}

}  // namespace
}  // namespace damo
