// Schedules that are measured, on a GPU without a clock: whichever wins by the times that the test gives, results have the same bits.
#include <damo/damo.hpp>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include <gmock/gmock.h>

#include "runtime/backend.hpp"
#include "runtime/kernel/schedule_trial.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::Environment;
using ::testing::HasSubstr;
using ::testing::Not;

/// The schedule of one number, among those of a kernel, takes less than the others.
class GivenTimes final : public LaunchClock {
 public:
  GivenTimes(Backend& backend, std::size_t winner) : backend_(backend), winner_(winner) {}
  bool may_measure(void* stream) override { return backend_.may_measure(stream); }
  double milliseconds(const Layout& schedule, void*, int, const std::function<void()>& work) override {
    work();
    ++measured;
    for (const auto& trial : ScheduleTrials::of(backend_)->all()) {
      if (trial->state() != ScheduleTrial::State::kMeasuring) continue;
      const std::size_t winner = std::min(winner_, trial->layouts().size() - 1);
      return schedule == trial->layouts()[winner] ? 1 : 2;
    }
    return 3;
  }
  int measured = 0;

 private:
  Backend& backend_;
  std::size_t winner_;
};

class MeasuredSchedules : public ::testing::Test {
 protected:
  using Graph = std::function<std::vector<Variable>(const Variable&)>;

  void SetUp() override {
    if (gpu_.kind() != DeviceKind::kCuda) GTEST_SKIP();
  }
  void TearDown() override { trials().set_rules({}); }

  ScheduleTrials& trials() { return *ScheduleTrials::of(gpu_.backend()); }
  std::shared_ptr<GivenTimes> let_win(std::size_t number) {
    auto clock = std::make_shared<GivenTimes>(gpu_.backend(), number);
    trials().set_rules({.least_microseconds = 0, .margin = 1e9, .most = 3, .launches = 2, .patience = std::chrono::milliseconds(0), .keeps = false}, clock);
    return clock;
  }
  void await() {
    for (const auto& trial : trials().all()) {
      while (trial->state() == ScheduleTrial::State::kCompiling) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  Function build(const Graph& graph, bool fuse = true) {
    const Variable x = matrix("x");
    return function({x}, graph(x), {.fuse = fuse, .device = gpu_});
  }
  static std::vector<std::vector<std::byte>> bits(const Results& results) {
    std::vector<std::vector<std::byte>> all;
    for (const Array& result : results) {
      const Array here = result.to(cpu());
      const auto* from = static_cast<const std::byte*>(here.data());
      all.emplace_back(from, from + here.nbytes());
    }
    return all;
  }
  Array range(const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 3 * std::sin(static_cast<float>(i) * 1.37f) + 0.001f * static_cast<float>(i % 7919);
    return Array::from(values, shape, gpu_);
  }

  Device gpu_ = Device("cuda:0");
};

Variable labels_of(const Variable& x) { return cast(argmax(x, 1), int32); }
Variable normed(const Variable& x) {
  const Variable m = mean(x, 1, true), d = x - m;
  return d / sqrt(mean(d * d, 1, true) + 1e-5);
}

struct Case {
  const char* name;
  std::function<std::vector<Variable>(const Variable&)> graph;
};

TEST_F(MeasuredSchedules, GiveTheBitsOfTheModelsWhicheverWins) {
  const Case cases[] = {
      {"softmax", [](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; }},
      {"softmax, its gradient", [](const Variable& x) -> std::vector<Variable> { return {grad(sum(softmax(x) * x), x)}; }},
      {"layer norm", [](const Variable& x) -> std::vector<Variable> { return {normed(x)}; }},
      {"layer norm, its gradients", [](const Variable& x) -> std::vector<Variable> {
         const Variable w = sum(x, 0) * 0.01, y = normed(x) * w;
         return {grad(sum(y * tanh(x)), x), grad(sum(y * x), w)};
       }},
      {"cross entropy and its gradient", [](const Variable& x) -> std::vector<Variable> {
         const Variable loss = mean(cross_entropy(x, labels_of(x)));
         return {loss, grad(loss, x)};
       }},
      {"sums", [](const Variable& x) -> std::vector<Variable> { return {sum(exp(x), 1), sum(tanh(x), 0), sum(x * x), argmax(x, 1)}; }},
      {"a turned array", [](const Variable& x) -> std::vector<Variable> { return {tanh(transpose(x)) + 1.0 * transpose(exp(x))}; }},
  };
  std::size_t trials_seen = 0;
  for (const Case& one : cases) {
    for (const Shape& shape : {Shape{41, 1000}, Shape{300, 65}, Shape{3, 9001}}) {
      SCOPED_TRACE(one.name + (" of " + to_string(shape)));
      const Array x = range(shape);
      std::vector<std::vector<std::byte>> expected;
      {
        const Environment off{"DAMO_TUNE", "0"};
        expected = bits(build(one.graph)(x));
      }
      std::size_t most = 1;
      for (std::size_t winner = 0; winner < most; ++winner) {
        let_win(winner);
        const Function f = build(one.graph);
        for (int call = 0; call < 6; ++call) {
          ASSERT_EQ(bits(f(x)), expected) << "call " << call << ", winner " << winner;
          await();
        }
        for (const auto& trial : trials().all()) {
          if (trial->state() == ScheduleTrial::State::kCounting) continue;  // compiled for expected layouts, and not launched
          EXPECT_EQ(trial->state(), ScheduleTrial::State::kSettled) << trial->kernel();
          EXPECT_TRUE(trial->is_measured()) << trial->kernel();
          EXPECT_EQ(trial->chosen(), std::min(winner, trial->layouts().size() - 1)) << trial->kernel() << ": another schedule's results differ";
          most = std::max(most, trial->layouts().size());
          ++trials_seen;
        }
      }
    }
  }
  EXPECT_GT(trials_seen, 40u);
}

TEST_F(MeasuredSchedules, AreMeasuredOnceAndSaidByExplain) {
  const auto graph = [](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; };
  const Array x = range({64, 4096});
  auto clock = let_win(1);
  const Function f = build(graph);
  f(x);
  EXPECT_THAT(f.explain(), HasSubstr("schedule by the model"));
  EXPECT_EQ(clock->measured, 0);
  f(x);
  await();
  f(x);
  const int measured = clock->measured;
  EXPECT_GT(measured, 0);
  EXPECT_THAT(f.explain(), HasSubstr("schedule timed"));
  for (int call = 0; call < 5; ++call) f(x);
  const Function g = build(graph);
  for (int call = 0; call < 5; ++call) g(x);
  EXPECT_THAT(g.explain(), HasSubstr("schedule timed"));
  EXPECT_THAT(g.explain(), Not(HasSubstr("by the model"))) << "it never compiled that one";
  EXPECT_EQ(clock->measured, measured);
}

TEST_F(MeasuredSchedules, LaunchesOfTrialsAreNotCounted) {
  const Array x = range({64, 4096});
  let_win(1);
  const Function f = build([](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; });
  const std::uint64_t before = gpu_.backend().launches;
  f(x);
  const std::uint64_t each = gpu_.backend().launches - before;
  for (int call = 1; call < 6; ++call) {
    f(x);
    await();
  }
  EXPECT_EQ(gpu_.backend().launches - before, 6 * each);
}

TEST_F(MeasuredSchedules, ReplaysGoOnWithTheChoice) {
  const Array x = range({64, 4096});
  const auto graph = [](const Variable& x) -> std::vector<Variable> {
    std::vector<Variable> all{softmax(x)};
    for (int i = 1; i < 6; ++i) all.push_back(sum(x * (0.5 * i), 1));
    return all;
  };
  std::vector<std::vector<std::byte>> expected;
  {
    const Environment off{"DAMO_TUNE", "0"};
    expected = bits(build(graph, false)(x));
  }
  const auto clock = let_win(1);
  trials().set_rules({.least_microseconds = 0, .margin = 1e9, .launches = 4, .patience = std::chrono::milliseconds(0), .keeps = false}, clock);
  const Function f = build(graph, false);  // enough launches for a graph
  const std::uint64_t before = gpu_.backend().replays;
  for (int call = 0; call < 4; ++call) ASSERT_EQ(bits(f(x)), expected);
  EXPECT_GT(gpu_.backend().replays, before) << "there is a graph by now, of kernels that the model chose";
  await();
  for (int call = 0; call < 4; ++call) {
    ASSERT_EQ(bits(f(x)), expected) << call;
    await();
  }
  EXPECT_GT(clock->measured, 0) << "calls that are replayed let schedules be measured";
  const std::uint64_t settled = gpu_.backend().replays;
  for (int call = 0; call < 4; ++call) ASSERT_EQ(bits(f(x)), expected) << call;
  EXPECT_GE(gpu_.backend().replays - settled, 3u) << "and are again when they have been";
  EXPECT_THAT(f.explain(), HasSubstr("schedule timed"));
}

TEST_F(MeasuredSchedules, LeaveSharedVariablesWithWhatEachCallGivesThem) {
  const auto run = [&] {
    const Shared w = shared("w", range({64, 4096}));
    const Function f = function({}, {sum(w)}, {.device = gpu_, .updates = {{w, softmax(w * 3) + 0.5 * w}}});
    for (int call = 0; call < 6; ++call) {
      f();
      await();
    }
    const std::vector<double> values = w.array().to_doubles();
    return values;
  };
  std::vector<double> expected;
  {
    const Environment off{"DAMO_TUNE", "0"};
    expected = run();
  }
  const auto clock = let_win(1);
  EXPECT_EQ(run(), expected);
  EXPECT_GT(clock->measured, 0);
}

TEST_F(MeasuredSchedules, NothingIsMeasuredWithTuningOff) {
  const Environment off{"DAMO_TUNE", "0"};
  const auto clock = let_win(1);
  const Array x = range({64, 4096});
  const Function f = build([](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; });
  for (int call = 0; call < 6; ++call) f(x);
  EXPECT_EQ(clock->measured, 0);
  EXPECT_TRUE(trials().all().empty());
  EXPECT_THAT(f.explain(), Not(HasSubstr("; schedule")));
}

TEST_F(MeasuredSchedules, NothingIsMeasuredInACapture) {
  const auto clock = let_win(1);
  const Array x = range({64, 4096});
  const Function f = build([](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; });
  f(x);
  f(x);
  await();
  Stream stream(gpu_);
  {
    const Function g = build([](const Variable& x) -> std::vector<Variable> { return {softmax(x)}; });
    const CapturedGraph captured = capture(stream, [&] { g(x); });
    EXPECT_EQ(clock->measured, 0);
  }
  f(x);
  EXPECT_GT(clock->measured, 0);
}

}  // namespace
}  // namespace damo
