// Every allocation, call of the system, call of the back end and compile of a set of programs fails, one after another:
// each time the program ends in the right answer or in one clear error, nothing leaks, and the next call is right.
//
// The points are sampled evenly, for about DAMO_TEST_FAULTS_SECONDS (default: few) a test. DAMO_TEST_FAULTS=all takes every one, and with
// DAMO_TEST_FAULTS_PART=2/64 the third of 64 parts of them, so that so many processes take them all; DAMO_TEST_FAULTS=17 takes that point
// alone and in the test's own process, for a debugger.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include <gtest/gtest.h>

#include <damo/log.hpp>

#include "faults/trial.hpp"
#include "support/scratch_directory.hpp"

#if !DAMO_HAS_CPU
TEST(Faults, EndInTheAnswerOrOneErrorOnCpu) { GTEST_SKIP() << "needs the CPU back end"; }
#else
namespace damo::faults {
namespace {

using Clock = std::chrono::steady_clock;
using damo::testing::Environment;
using damo::testing::ScratchDirectory;

constexpr unsigned kAllKinds = static_cast<unsigned>(Kind::kAllocation) | static_cast<unsigned>(Kind::kSystemCall) | static_cast<unsigned>(Kind::kBackend);
constexpr double kSecondsOfATest = 1.2;
constexpr std::size_t kMostProblems = 30;  // then the test gives up

/// DAMO_TEST_FAULTS_PART: which points, of how many parts.
struct Part {
  long index = 0, of = 1;
  static Part from_environment() {
    Part part;
    const char* const text = std::getenv("DAMO_TEST_FAULTS_PART");
    if (text && (std::sscanf(text, "%ld/%ld", &part.index, &part.of) != 2 || part.index < 0 || part.index >= part.of)) throw std::invalid_argument("DAMO_TEST_FAULTS_PART is not as 2/64");
    return part;
  }
};

std::vector<ProgramEntry> programs() {
  std::vector<ProgramEntry> all = function_programs();
  for (auto& some : {cuda_c_programs, file_programs}) {
    for (ProgramEntry& program : some()) all.push_back(std::move(program));
  }
  return all;
}

class Faults : public ::testing::TestWithParam<ProgramEntry> {
 protected:
  void SetUp() override { set_log_level(LogLevel::kOff); }

  TrialResult trial(unsigned kinds, long number, Extent extent) {
    const ScratchDirectory empty;
    const Environment cache("DAMO_CACHE_DIR", GetParam().compiles ? empty.path() : warm_.path());
    return run_trial(GetParam(), kinds, number, extent);
  }

  void fail_each(unsigned kinds, Extent extent) {
    const char* const wanted = std::getenv("DAMO_TEST_FAULTS");
    const bool all = wanted && std::string(wanted) == "all";
    if (GetParam().compiles) {  // what the second compile of a process makes and keeps: the precompiled prelude
      const ScratchDirectory empty;
      const Environment cache("DAMO_CACHE_DIR", empty.path());
      ASSERT_EQ(run_here(GetParam(), 0, 0, extent), "");
    }
    {
      const Environment cache("DAMO_CACHE_DIR", warm_.path());
      ASSERT_EQ(run_here(GetParam(), 0, 0, extent), "");
      if (wanted && !all) {
        EXPECT_EQ(run_here(GetParam(), kinds, std::atol(wanted), extent), "");
        return;
      }
    }
    const auto start = Clock::now();
    const TrialResult clean = trial(kinds, 0, extent);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    ASSERT_EQ(clean.problem, "");
    const char* const longer = std::getenv("DAMO_TEST_FAULTS_SECONDS");
    const long affordable = std::max(4L, static_cast<long>((longer ? std::atof(longer) : kSecondsOfATest) / (2 * seconds)));
    const Part part = Part::from_environment();
    const long stride = all ? part.of : (clean.points + affordable - 1) / affordable, first = all ? 1 + part.index : 1;
    long trials = 0, failed = 0;
    std::vector<std::string> problems;
    for (long number = first; number <= clean.points && problems.size() < kMostProblems; number += stride) {
      const TrialResult result = trial(kinds, number, extent);
      ++trials;
      failed += result.failed;
      if (!result.problem.empty()) problems.push_back(result.problem);
    }
    std::cout << GetParam().name << ": " << clean.points << " points, " << trials << " tried, " << failed << " failed, " << problems.size() << " wrong\n";
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    if (trials > 0) EXPECT_GT(failed, 0);
  }

 private:
  ScratchDirectory warm_;
};

TEST_P(Faults, EndInTheAnswerOrOneErrorWhereverASinglePointFails) { fail_each(kAllKinds, Extent::kOnce); }
TEST_P(Faults, EndInTheAnswerOrOneErrorWhenMemoryRunsOutFromAPointOn) { fail_each(static_cast<unsigned>(Kind::kAllocation), Extent::kFromThenOn); }

INSTANTIATE_TEST_SUITE_P(, Faults, ::testing::ValuesIn(programs()), [](const auto& info) { return "cpu_" + info.param.name; });

}  // namespace
}  // namespace damo::faults
#endif
