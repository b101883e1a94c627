#include "faults/trial.hpp"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include <damo/error.hpp>

#include "faults/faulty_cpu.hpp"
#include "faults/process_state.hpp"
#include "runtime/memory/memory_pool.hpp"
#include "runtime/memory/pinned_pool.hpp"

namespace damo::faults {
namespace {

constexpr unsigned kSecondsOfATrial = 60;

char running[256];  // what a crash or a hang names

void tell_and_abort(const char* how) {
  const char* const parts[] = {how, " in ", running, ", failed: ", Injection::failed() ? Injection::failed() : "nothing", "\n"};
  for (const char* part : parts) {
    if (::write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
}

/// Says which trial it was before the process ends.
void name_what_ends_the_process() {
  std::set_terminate([] {
    tell_and_abort("terminate was called");
    std::abort();
  });
  std::signal(SIGALRM, [](int) {
    tell_and_abort("it hangs");
    std::abort();
  });
}

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

class Trial {
 public:
  Trial(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) : entry_(entry), kinds_(kinds), number_(number), extent_(extent) {}

  std::string run() {
    FaultyCpu backend;
    backend.copy_bytes_per_second = 1e9;  // known: measuring it takes longer than all the rest
    std::string problem = run(Device(&backend));
    const auto held = [&](const char* what, std::size_t bytes) {
      if (problem.empty() && bytes > 0) problem = std::string(what) + " keeps " + std::to_string(bytes) + " bytes in use";
    };
    held("the pool", backend.pool().statistics().in_use_bytes);
    held("the pool of pinned memory", backend.pinned_pool().statistics().in_use_bytes);
    return problem;
  }

 private:
  std::string run(Device device) {
    const std::unique_ptr<Program> program = entry_.make();
    bool is_built = false;
    Injection::begin(kinds_, number_, extent_);
    std::string problem = problem_of(
        [&] {
          const Armed points;
          program->build(device);
          is_built = true;
          program->step();
          program->step();
        },
        number_ > 0);
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

  const ProgramEntry& entry_;
  unsigned kinds_;
  long number_;
  Extent extent_;
};

}  // namespace

TrialResult run_trial(const ProgramEntry& entry, unsigned kinds, long number, Extent extent) {
  name_what_ends_the_process();
  std::snprintf(running, sizeof running, "%s, point %ld%s", entry.name.c_str(), number, extent == Extent::kOnce ? "" : " and all after it");
  TrialResult result;
  const ProcessState before = ProcessState::now();
  alarm(kSecondsOfATrial);
  std::thread([&] { result.problem = Trial(entry, kinds, number, extent).run(); }).join();
  alarm(0);
  result.points = Injection::points();
  result.failed = Injection::failed() != nullptr;
  const std::string kept = difference(before, ProcessState::now());
  if (result.problem.empty() && !kept.empty()) result.problem = "kept: " + kept;
  if (!result.problem.empty()) result.problem = std::string(running) + " (" + (result.failed ? Injection::failed() : "none") + "): " + result.problem;
  return result;
}

}  // namespace damo::faults
