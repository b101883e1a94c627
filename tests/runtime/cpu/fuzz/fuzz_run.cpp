#include "runtime/cpu/fuzz/fuzz_run.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include <damo/error.hpp>

#include "runtime/cpu/compile_support.hpp"
#include "runtime/cpu/fuzz/fuzz_launch.hpp"
#include "runtime/cpu/fuzz/source_mutator.hpp"

namespace damo::cpu_backend::testing {
namespace {

/// In memory that parent and child share.
struct Progress {
  std::atomic<std::uint64_t> next, compiled, refused, ran;
};

void try_source(std::uint64_t number, CpuBackend& backend, Progress& progress) {
  const std::string source = mutated_source(number);
  const CompileOutput output = compile_cuda(source);
  if (!output.ok) {
    if (output.log.empty()) throw std::logic_error("refused without a word");
    ++progress.refused;
    return;
  }
  try {
    const LoadedObject object(output.object, "fuzz");
  } catch (const Error&) {
    // A function that is nowhere, or a variable that no loader can place: an error text, as it should be.
  }
  ++progress.compiled;
  progress.ran += static_cast<std::uint64_t>(launch_kernels(backend, source));
}

/// A template or a pile of "<" that would take hours is given up as a user would have it given up.
constexpr const char* kCompileLimit = "3";

[[noreturn]] void work(std::uint64_t end, Progress& progress) {
  setenv("DAMO_COMPILE_TIME_LIMIT", kCompileLimit, 1);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which take all of the address space
  constexpr rlim_t kMemory = rlim_t{4} << 30;  // a compile that wants more is to give up, not to push others out
  const rlimit memory{kMemory, kMemory};
  setrlimit(RLIMIT_AS, &memory);
#endif
  if (!std::freopen("/dev/null", "w", stdout)) std::_Exit(2);  // where kernels print
  CpuBackend backend(2);
  backend.kernel_time_limit = 0.2;
  for (std::uint64_t number = progress.next; number < end; progress.next = ++number) try_source(number, backend, progress);
  std::_Exit(0);
}

/// How the child ended; empty: well.
std::string wait_for(pid_t child, const Progress& progress, int seconds_each) {
  using Clock = std::chrono::steady_clock;
  std::uint64_t seen = progress.next;
  auto since = Clock::now();
  for (;;) {
    int status = 0;
    if (waitpid(child, &status, WNOHANG) == child) {
      if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status));
      return WEXITSTATUS(status) == 0 ? std::string() : "exit " + std::to_string(WEXITSTATUS(status));
    }
    if (progress.next != seen) seen = progress.next, since = Clock::now();
    if (Clock::now() - since > std::chrono::seconds(seconds_each)) {
      kill(child, SIGKILL);
      waitpid(child, &status, 0);
      return "hangs";
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

FuzzResult fuzz_compiler(std::uint64_t first, std::uint64_t count, int seconds_each, bool talk) {
  void* const memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  Progress& progress = *new (memory) Progress;
  FuzzResult result;
  progress.next = first;
  // A child does a part: what a compile of wild text leaks goes with it.
  constexpr std::uint64_t kPart = 2000;
  while (progress.next < first + count) {
    const std::uint64_t end = std::min(first + count, (progress.next / kPart + 1) * kPart);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("fork fails");
    if (child == 0) work(end, progress);
    const std::string how = wait_for(child, progress, seconds_each);
    if (!how.empty()) result.failures.push_back({progress.next++, how});
    if (talk && !how.empty()) std::fprintf(stderr, "%llu: %s\n", static_cast<unsigned long long>(result.failures.back().number), how.c_str());
    if (talk) std::fprintf(stderr, "%llu\n", static_cast<unsigned long long>(progress.next.load()));
  }
  result.compiled = progress.compiled;
  result.refused = progress.refused;
  result.ran = progress.ran;
  munmap(memory, sizeof(Progress));
  return result;
}

}  // namespace damo::cpu_backend::testing
