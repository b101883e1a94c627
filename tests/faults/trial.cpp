#include "faults/trial.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include <damo/error.hpp>

#if DAMO_HAS_CPU
#include "faults/faulty_cpu.hpp"
#endif
#include "faults/process_state.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo::faults {
namespace {

std::string text_of(const Wrong& wrong) {
  return std::string("wrong value of ") + wrong.what + ": " + std::to_string(wrong.got) + ", wanted " + std::to_string(wrong.wanted);
}

/// Runs work; what an exception says that is no clear error, or any where none is allowed.
template <class Work>
std::string problem_of(const Work& work, bool may_fail) {
  try {
    work();
    return {};
  } catch (const Wrong& wrong) {
    return text_of(wrong);
  } catch (const Error& error) {
    if (!may_fail) return std::string("an error without a fault: ") + error.what();
    return std::strlen(error.what()) > 0 ? "" : "an Error without text";
  } catch (const std::bad_alloc&) {
    return may_fail && Injection::failed_in(Kind::kAllocation) ? "" : "std::bad_alloc although there was memory";
  } catch (const std::exception& error) {
    return std::string("an exception that is no Error: ") + error.what();
  }
}

}  // namespace

std::string run_on(const ProgramEntry& entry, Device device, unsigned kinds, long number, Extent extent) {
  const std::unique_ptr<Program> program = entry.make();
  bool is_built = false;
  Injection::begin(kinds, number, extent);
  std::string problem = problem_of(
      [&] {
        const Armed points;
        program->build(device);
        is_built = true;
        program->step();
        program->step();
      },
      number > 0);
  Injection::end();
  if (!problem.empty()) return problem;
  problem = problem_of(
      [&] {
        if (!is_built) program->build(device);
        program->step();
      },
      false);
  return problem.empty() ? problem : "afterwards: " + problem;
}

#if DAMO_HAS_CPU
namespace {

constexpr unsigned kSecondsOfATrial = 100;  // a cold compile on a busy machine takes many

/// What the child process tells, in memory that both see.
struct Report {
  long points;
  const char* failed;  // a literal: it stands at the same address in both
  bool is_done;
  char problem[4000];
};

Report* report = nullptr;

/// On a CPU of its own.
std::string run_on_own_cpu(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) {
  FaultyCpu backend;
  std::string problem = run_on(entry, Device(&backend), kinds, number, extent);
  const auto held = [&](const char* what, std::size_t bytes) {
    if (problem.empty() && bytes > 0) problem = std::string(what) + " keeps " + std::to_string(bytes) + " bytes in use";
  };
  held("the pool", backend.pool().statistics().in_use_bytes);
  held("the pool of pinned memory", backend.pinned_pool().statistics().in_use_bytes);
  return problem;
}

void run_in_child(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) {
  std::set_terminate([] {
    report->failed = Injection::failed();
    _exit(3);
  });
  std::signal(SIGALRM, [](int) {
    report->failed = Injection::failed();
    _exit(4);
  });
  alarm(kSecondsOfATrial);
  const ProcessState before = ProcessState::now();
  std::string problem;
  std::thread([&] { problem = run_on_own_cpu(entry, kinds, number, extent); }).join();
  const std::string kept = difference(before, ProcessState::now());
  if (problem.empty() && !kept.empty()) problem = "kept: " + kept;
  report->points = Injection::points();
  report->failed = Injection::failed();
  std::snprintf(report->problem, sizeof report->problem, "%s", problem.c_str());
  report->is_done = true;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status)) return std::string("the process died: ") + strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 3 ? "std::terminate was called" : WEXITSTATUS(status) == 4 ? "it hangs" : "the process ended";
}

}  // namespace

std::string run_here(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) {
  std::string problem;
  std::thread([&] { problem = run_on_own_cpu(entry, kinds, number, extent); }).join();
  return problem;
}

TrialResult run_trial(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) {
  if (!report) report = static_cast<Report*>(mmap(nullptr, sizeof(Report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  *report = Report{};
  const pid_t child = fork();
  if (child == 0) {
    run_in_child(entry, kinds, number, extent);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  TrialResult result{report->points, report->failed != nullptr, report->problem};
  if (!report->is_done) result.problem = how_it_ended(status);
  if (!result.problem.empty()) {
    const char* const until = extent == Extent::kOnce ? "" : " and all after it";
    result.problem = entry.name + ", point " + std::to_string(number) + until + " (" + (result.failed ? report->failed : "?") + "): " + result.problem;
  }
  return result;
}
#endif

}  // namespace damo::faults
