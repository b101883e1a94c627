// What a replayed call asks of the CUDA driver, on a driver of the tests' own (driver/fake_driver.cpp) which writes it down.
#include <damo/damo.hpp>

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <vector>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FakeCudaNvrtc : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
    device_ = Device("cuda:0");
    ASSERT_EQ(device_->properties().description, "fake");
  }
  Device device() const { return *device_; }
  Array zeros() const { return Array::zeros({4}, float32, device()); }
  static std::string text(const void* address) {
    std::ostringstream text;
    text << address;
    return text.str();
  }

  /// Since the last call, a line each: "launch 0x1000 0x2000".
  static std::vector<std::string> events() {
    static const auto take = reinterpret_cast<char* (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_take_events"));
    const std::unique_ptr<char, void (*)(void*)> text(take(), std::free);
    std::istringstream lines(text.get());
    std::vector<std::string> found;
    for (std::string what, kernel, from, to; lines >> what;) {
      if (what != "graph") lines >> kernel >> from >> to;
      found.push_back(what == "graph" ? what : what + " " + from + " " + to);
    }
    return found;
  }

  /// Waits of kernels in graphs, since the last call, that are not for the end of the kernel before.
  static std::size_t early_waits() {
    static const auto take = reinterpret_cast<std::size_t (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_take_early"));
    return take();
  }

 private:
  std::optional<Device> device_;
};

Function chain(const Device& device, int kernels) {
  const Variable x = vector("x");
  Variable y = x;
  for (int i = 0; i < kernels; ++i) y = y + 1.0;
  return function({x}, {y}, {.fuse = false, .device = device});
}

/// A copy of x, which a kernel writes into, and some kernels after it.
Function copy_and_chain(const Device& device) {
  const Variable x = vector("x");
  Variable y = set_subtensor(x, {{0, 2}}, 1.0);
  for (int i = 0; i < 7; ++i) y = y + 1.0;
  return function({x}, {y}, {.fuse = false, .device = device});
}

TEST_F(FakeCudaNvrtc, RowsThatAreNotAlignedHaveATextOfTheirOwnWhichIsCompiledOnce) {
  // A device's cache on disk is opened with the first kernel of the process and may have these: a text is compiled or read from there.
  const auto texts = [&] {
    const CacheStatistics statistics = cache_statistics(device());
    return statistics.compiles + statistics.disk_hits;
  };
  const Variable x = input({float32, {64, 1024}}, "x");  // of unknown extents kernels for others may be compiled beside
  const Function f = function({x}, {sum(x * x, 1)}, {.device = device()});
  const Array aligned = Array::zeros({64, 1024}, float32, device());
  const Array shifted = Array::zeros({64 * 1024 + 1}, float32, device()).view(float32, {64, 1024}, {1024, 1}, 1);
  f(aligned);
  const std::uint64_t before = texts();
  f(shifted);
  EXPECT_EQ(texts(), before + 1);
  f(shifted);
  f(aligned);
  EXPECT_EQ(texts(), before + 1);
}

TEST_F(FakeCudaNvrtc, ACallThatComesAgainIsOneLaunchOfAGraph) {
  const Function f = chain(device(), 4);
  const Array x = zeros();
  events();
  f(x);
  const std::vector<std::string> direct = events();
  ASSERT_EQ(direct.size(), 4u);
  EXPECT_THAT(direct[0], HasSubstr("launch " + text(x.data())));
  f(x);
  EXPECT_EQ(events(), direct);
  std::vector<std::string> replayed = direct;
  replayed.insert(replayed.begin(), "graph");
  for (int call = 0; call < 3; ++call) {
    f(x);
    EXPECT_EQ(events(), replayed);
  }
}

TEST_F(FakeCudaNvrtc, KernelsThatWaitThemselvesAreLaunchedEarly) {
  const Array x = zeros();
  const auto waits = [&](const Function& f) {
    early_waits();
    for (int call = 0; call < 4; ++call) f(x);
    return early_waits();
  };
  EXPECT_EQ(waits(chain(device(), 4)), 3u);
  EXPECT_EQ(waits(copy_and_chain(device())), 7u) << "of eight kernels; the first waits for the end of a copy";
  const testing::Environment in_order("DAMO_DISABLE", "side_by_side");
  EXPECT_EQ(waits(chain(device(), 4)), 0u);
}

TEST_F(FakeCudaNvrtc, OnlyKernelsWhoseArraysMovedAreSet) {
  const Function f = chain(device(), 4);
  const Array x = zeros(), moved = zeros();
  for (int call = 0; call < 3; ++call) f(x);
  events();
  f(x);
  const std::vector<std::string> before = events();
  const Array held = f(moved);
  std::vector<std::string> now = events();
  ASSERT_EQ(now.size(), 6u);  // set, graph, four launches
  EXPECT_EQ(now[0], "set" + now[2].substr(6));
  EXPECT_THAT(now[2], HasSubstr(text(moved.data())));
  EXPECT_EQ(std::vector(now.begin() + 3, now.end()), std::vector(before.begin() + 2, before.end()));
  const Array other = f(moved);  // the last result is held: the last kernel writes elsewhere
  now = events();
  ASSERT_EQ(now.size(), 6u);
  EXPECT_EQ(now[0], "set" + now[5].substr(6));
  EXPECT_THAT(now[5], HasSubstr(text(other.data())));
  EXPECT_NE(held.data(), other.data());
}

TEST_F(FakeCudaNvrtc, ACopyWhoseArraysMovedIsSetAsAGraphWithinTheGraph) {
  const Function f = copy_and_chain(device());
  const Array x = zeros();
  for (int call = 0; call < 3; ++call) f(x);
  events();
  f(x);
  const std::vector<std::string> before = events();
  ASSERT_THAT(before, ::testing::SizeIs(::testing::Ge(9u)));
  ASSERT_EQ(before[0], "graph");
  ASSERT_THAT(before[1], HasSubstr(text(x.data()))) << "the copy";
  std::vector<Array> others;
  for (int i = 0; i < 4; ++i) others.push_back(zeros());
  f(others[0]);  // a new graph, whose copy can be set
  events();
  for (const Array& other : others) {
    if (&other == &others[0]) continue;
    f(other);
    const std::vector<std::string> now = events();
    const auto graph = std::find(now.begin(), now.end(), "graph");
    ASSERT_NE(graph, now.end());
    ASSERT_EQ(now.end() - graph, static_cast<std::ptrdiff_t>(before.size()));
    EXPECT_THAT(graph[1], HasSubstr(text(other.data())));
    EXPECT_THAT(now[0], HasSubstr("set " + text(other.data())));
    for (const std::string& event : now) EXPECT_THAT(event, ::testing::Not(HasSubstr(text(x.data()) + " "))) << "an array of another call";
  }
}

TEST_F(FakeCudaNvrtc, AGraphThatTheDriverRefusesToSetIsNotLaunched) {
  static const auto refuse = reinterpret_cast<void (*)(bool)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_refuse_inner"));
  const Function f = copy_and_chain(device());
  std::vector<Array> arrays;
  for (int i = 0; i < 4; ++i) arrays.push_back(zeros());
  for (int call = 0; call < 5; ++call) f(arrays[call < 4 ? 0 : 1]);
  refuse(true);
  for (int call = 0; call < 2; ++call) {
    for (const Array& x : {arrays[2], arrays[3], arrays[2]}) {
      events();
      f(x);
      std::vector<std::string> now = events();
      if (now[0] == "graph") now.erase(now.begin());
      EXPECT_THAT(now, Each(HasSubstr("launch"))) << "nothing is set";
      EXPECT_THAT(now[0], HasSubstr(text(x.data())));
    }
  }
  refuse(false);
}

TEST_F(FakeCudaNvrtc, OneKernelIsAGraphToo) {
  const Function f = chain(device(), 1);
  const Array x = zeros();
  for (int call = 0; call < 5; ++call) f(x);
  events();
  f(x);
  EXPECT_EQ(events().size(), 2u);  // graph, launch
}

TEST_F(FakeCudaNvrtc, ACallInACaptureIsPartOfTheUsersGraph) {
  const Function f = chain(device(), 4);
  const Array x = zeros();
  for (int call = 0; call < 5; ++call) f(x);
  const Stream stream(device());
  events();
  Array y;
  std::optional<CapturedGraph> graph = capture(stream, [&] { y = f(x); });
  EXPECT_THAT(events(), IsEmpty());
  EXPECT_EQ(graph->node_count(), 4u);
  graph->launch(stream);
  const std::vector<std::string> launched = events();
  ASSERT_EQ(launched.size(), 5u);
  EXPECT_THAT(launched[1], HasSubstr("launch " + text(x.data())));
  EXPECT_THAT(launched[4], HasSubstr(text(y.data())));
  f(x);
  for (const std::string& event : events()) EXPECT_THAT(event, ::testing::Not(HasSubstr(text(y.data())))) << "the graph's own buffer";
}

}  // namespace
}  // namespace damo
