// Which of several schedules is taken: the short list, the choice by given times, and what is kept from process to process.
#include "runtime/kernel/schedule_trial.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/kernel/cache.hpp"
#include "support/counting_backend.hpp"
#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using damo::testing::CountingBackend;
using damo::testing::Environment;
using damo::testing::ScratchDirectory;
using ::testing::ElementsAre;
using State = ScheduleTrial::State;

ScheduleGuess guess(int residents, double microseconds) {
  Layout layout;
  layout.residents = residents;
  return {layout, microseconds};
}

std::vector<int> listed(std::vector<ScheduleGuess> guesses, const TrialRules& rules = {}) {
  std::vector<int> residents;
  for (const Layout& layout : short_list(std::move(guesses), rules)) residents.push_back(layout.residents);
  return residents;
}

TEST(ShortList, HasTheModelsChoiceAndThoseWithinTheMarginOfTheBest) {
  EXPECT_THAT(listed({guess(1, 100), guess(2, 108), guess(3, 108.1), guess(4, 101)}), ElementsAre(1, 4, 2));
  EXPECT_THAT(listed({guess(1, 150), guess(2, 100), guess(3, 109)}), ElementsAre(1, 2)) << "the model's is there whatever is predicted of it";
}

TEST(ShortList, HasEqualGuessesInTheirOrderAndNoMoreThanAreToBeMeasured) {
  EXPECT_THAT(listed({guess(9, 50), guess(1, 50), guess(2, 50), guess(3, 50), guess(4, 50)}), ElementsAre(9, 1, 2, 3));
  EXPECT_THAT(listed({guess(9, 50), guess(1, 51), guess(2, 50)}, {.most = 2}), ElementsAre(9, 2));
}

TEST(ShortList, HasOneWhereALaunchIsShort) {
  EXPECT_THAT(listed({guess(1, 19.9), guess(2, 19.9)}), ElementsAre(1));
  EXPECT_THAT(listed({guess(1, 20), guess(2, 20)}), ElementsAre(1, 2));
}

TEST(Fastest, IsTheOneWhoseMedianIsLeast) {
  const std::vector<std::vector<double>> times = {{1.0, 1.0, 1.0}, {0.5, 0.99, 3.0}, {0.8, 0.7, 9.0}};
  EXPECT_EQ(fastest(times, 0.01), 2u);
}

TEST(Fastest, StaysWithTheModelUnlessAnotherGainsEnough) {
  EXPECT_EQ(fastest(std::vector<std::vector<double>>{{1.0}, {1.0}}, 0.0), 0u) << "a tie";
  EXPECT_EQ(fastest(std::vector<std::vector<double>>{{1.0}, {0.991}}, 0.01), 0u);
  EXPECT_EQ(fastest(std::vector<std::vector<double>>{{1.0}, {0.989}}, 0.01), 1u);
  EXPECT_EQ(fastest(std::vector<std::vector<double>>{{1.0}, {0.5}, {0.5}}, 0.01), 1u);
}

TEST(Fastest, LeavesOutWhatHasNoTimes) { EXPECT_EQ(fastest(std::vector<std::vector<double>>{{1.0}, {}, {0.9}}, 0.01), 2u); }

class ScheduleTrialsTest : public ::testing::Test {
 protected:
  using Trial = std::shared_ptr<ScheduleTrial>;
  static std::shared_ptr<ScheduleTrials> trials_of(Backend& backend) {
    const auto trials = ScheduleTrials::of(backend);
    if (trials->rules().patience.count() > 0) trials->set_rules({.patience = std::chrono::milliseconds(0)});
    return trials;
  }
  static Trial trial(Backend& backend, const std::string& shapes = "2^10 of 4096", const std::string& source = "text") {
    return trials_of(backend)->trial("k", [&] { return source; }, shapes, {guess(4, 100), guess(5, 100), guess(3, 100)});
  }
  static void launch(Backend& backend, const Trial& trial, int times) {
    for (int i = 0; i < times; ++i) ScheduleTrials::of(backend)->count(trial, [] { return std::vector<CompileRequest>{{.source = "a"}, {.source = "b"}, {.source = "c"}}; });
  }
  static void await(const Trial& trial) {
    while (trial->state() == State::kCompiling) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static void settle(Backend& backend, const Trial& trial, std::vector<std::vector<double>> times) {
    launch(backend, trial, 3);
    await(trial);
    ASSERT_TRUE(ScheduleTrials::begin(*trial));
    ScheduleTrials::of(backend)->settle(*trial, std::move(times));
  }

  ScratchDirectory scratch_;
  Environment directory_{"DAMO_CACHE_DIR", scratch_.path()}, limit_{"DAMO_CACHE_LIMIT", nullptr}, tune_{"DAMO_TUNE", nullptr};
  CountingBackend backend_;
};

TEST_F(ScheduleTrialsTest, CompilesNothingBeforeALaunchHasComeAgain) {
  const Trial a = trial(backend_);
  launch(backend_, a, 2);
  EXPECT_EQ(a->state(), State::kCounting);
  EXPECT_EQ(backend_.counting.compiles, 0);
  launch(backend_, a, 1);
  await(a);
  EXPECT_EQ(a->state(), State::kReady);
  EXPECT_EQ(backend_.counting.compiles, 3);
  EXPECT_EQ(backend_.schedules, 1u) << "calls look for it";
}

TEST_F(ScheduleTrialsTest, IsSharedByAllWhoHaveTheTextAndTheClassOfShapes) {
  EXPECT_EQ(trial(backend_), trial(backend_));
  EXPECT_NE(trial(backend_), trial(backend_, "2^10 of 8192"));
  EXPECT_NE(trial(backend_), trial(backend_, "2^10 of 4096", "another text"));
}

TEST_F(ScheduleTrialsTest, IsMeasuredByOneThread) {
  const Trial a = trial(backend_);
  launch(backend_, a, 3);
  await(a);
  EXPECT_TRUE(ScheduleTrials::begin(*a));
  EXPECT_FALSE(ScheduleTrials::begin(*a));
}

TEST_F(ScheduleTrialsTest, TakesTheFastestAndKeepsItForOtherProcesses) {
  const Trial a = trial(backend_);
  settle(backend_, a, {{3.0}, {2.0}, {2.5}});
  EXPECT_EQ(a->layout().residents, 5);
  CountingBackend next;
  const Trial again = trial(next);
  EXPECT_EQ(again->state(), State::kSettled);
  EXPECT_TRUE(again->is_measured());
  EXPECT_EQ(again->layout().residents, 5);
  EXPECT_EQ(next.counting.compiles, 0);
  EXPECT_EQ(trial(next, "2^10 of 8192")->state(), State::kCounting) << "of another class nothing is known";
}

TEST_F(ScheduleTrialsTest, TakesTheModelsWhereNothingCouldBeMeasured) {
  const Trial a = trial(backend_);
  settle(backend_, a, {});
  EXPECT_EQ(a->state(), State::kSettled);
  EXPECT_FALSE(a->is_measured());
  EXPECT_EQ(a->layout().residents, 4);
  CountingBackend next;
  EXPECT_EQ(trial(next)->state(), State::kCounting) << "nothing was kept";
}

TEST_F(ScheduleTrialsTest, TakesNoOtherScheduleOfADamagedEntry) {
  const Trial a = trial(backend_);
  settle(backend_, a, {{3.0}, {2.0}, {2.5}});
  for (const CacheEntry& entry : cache_entries()) {
    const std::string path = scratch_ / entry.name;
    if (std::filesystem::exists(path)) std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  }
  CountingBackend next;
  EXPECT_EQ(trial(next)->state(), State::kCounting);
}

TEST_F(ScheduleTrialsTest, IsOffForReproducibleBuilds) {
  const Trial a = trial(backend_);
  settle(backend_, a, {{3.0}, {2.0}, {2.5}});
  const Environment off{"DAMO_TUNE", "0"};
  CountingBackend next;
  EXPECT_EQ(trial(next), nullptr) << "nor is what was kept";
}

TEST_F(ScheduleTrialsTest, ASecondSchedulesErrorLeavesTheOthers) {
  const Trial a = trial(backend_);
  for (int i = 0; i < 3; ++i) ScheduleTrials::of(backend_)->count(a, [] { return std::vector<CompileRequest>{{.source = "a"}, {.source = "wrong"}, {.source = "c"}}; });
  await(a);
  EXPECT_EQ(a->state(), State::kReady);
  EXPECT_EQ(a->modules()[1], nullptr);
  EXPECT_NE(a->modules()[2], nullptr);
}

TEST(DoBeside, LeavesWhatHasNotBegunWhenTheThreadEnds) {
  bool is_done = false;
  std::thread([&] { do_beside(std::chrono::hours(1), [&] { is_done = true; }); }).join();
  EXPECT_FALSE(is_done);
}

TEST(DoBeside, DoesOneAfterTheOtherAndAgainLater) {
  std::atomic<int> done = 0;
  for (int turn = 1; turn <= 3; ++turn) {
    do_beside(std::chrono::milliseconds(0), [&] { ++done; });
    do_beside(std::chrono::milliseconds(0), [&] { ++done; });
    while (done < 2 * turn) std::this_thread::yield();
    EXPECT_EQ(done, 2 * turn);
  }
}

TEST(DoBeside, KeepsNoProcessThatWasForkedFromEnding) {
  std::atomic<bool> is_open = false;
  do_beside(std::chrono::milliseconds(0), [&] {
    while (!is_open) std::this_thread::yield();
  });
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] {}).join();
    do_beside(std::chrono::hours(1), [] {});
    exit(7);
  }
  is_open = true;
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace damo
