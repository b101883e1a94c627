// Random programs: what the compiler makes of a kernel in any form is what its text says, thread by thread.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include <damo/device.hpp>
#include <damo/error.hpp>

#include "runtime/cpu/random_kernels/campaign.hpp"
#include "runtime/cpu/random_kernels/kernel_writer.hpp"
#include "runtime/cpu/random_kernels/run.hpp"
#include "runtime/cpu/random_kernels/shrink.hpp"
#include "support/sampling.hpp"
#if DAMO_HAS_CUDA
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"
#endif

namespace damo::random_kernels {
namespace {

std::string failures_of(const Campaign& campaign) {
  const Result result = run(campaign);
  std::printf("[ figure ] %s\n", result.summary().c_str());
  std::string texts;
  for (const Failure& failure : result.failures) texts += failure.text() + "\n";
  return texts;
}

TEST(RandomKernels, GiveTheSameValuesInAllForms) {
  EXPECT_EQ(failures_of({.first = 1, .count = 150, .jobs = 2, .seconds = 10, .attempts = 60, .shrunk = 2}), "");
}

#if DAMO_HAS_CUDA
TEST(RandomKernels, CompileWithNvrtc) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(damo::testing::nvrtc_architecture());
  std::vector<Program> programs;
  for (std::uint64_t seed = 1; seed <= 16; ++seed) programs.push_back(random_program(seed));
  EXPECT_FALSE(compiler.compile({.source = source_of(programs), .kind = SourceKind::kCudaC, .file_name = "k.cu"}).bytes.empty());
  // Arrays of __half and nothing else of the kind, and volatile shared words in a group's reduction and scan: alone, for each needs its own headers.
  for (const std::uint64_t seed : {1601938, 1601947, 1700671}) {
    const Program program = random_program(seed);
    EXPECT_FALSE(compiler.compile({.source = source_of({&program, 1}), .kind = SourceKind::kCudaC, .file_name = "k.cu"}).bytes.empty()) << seed;
  }
}
#endif

TEST(RandomKernels, GiveTheReferencesValuesOnCuda) {
  // Asked in a child: what has called the driver can't fork children that do.
  const Verdict gpu = judge_in_child(
      [] {
        try {
          return cuda().synchronize(), std::string();
        } catch (const Error& error) {
          return "none: " + std::string(error.what());
        }
      },
      100);
  if (!gpu.is_good()) GTEST_SKIP() << "needs a GPU: " << gpu.text;
  EXPECT_EQ(failures_of({.first = 1, .count = 300, .jobs = 2, .seconds = 30, .on_gpu = true, .attempts = 60, .shrunk = 2}), "");
}

/// "seed 5: crash" of each failure.
std::vector<std::string> failed_seeds(Campaign campaign) {
  campaign.attempts = 0;
  std::vector<std::string> failed;
  for (const Failure& failure : run(campaign).failures) failed.push_back("seed " + std::to_string(failure.seed) + ": " + failure.verdict.kind);
  return failed;
}

TEST(RandomKernels, AreNamedByTheirSeedWhereAProcessDiesOrHangs) {
  const auto on = [](std::uint64_t seed, auto&& act) {
    return [seed, act](std::span<const Program> programs) {
      for (const Program& program : programs) {
        if (program.seed == seed) act();
      }
    };
  };
  EXPECT_EQ(failed_seeds({.first = 36, .count = 3, .before = on(37, [] { std::_Exit(0); })}), (std::vector<std::string>{"seed 37: crash"}));
  EXPECT_EQ(failed_seeds({.first = 36, .count = 2, .seconds_each = 2.5, .before = on(37, [] { pause(); })}), (std::vector<std::string>{"seed 37: hang"}));
}

TEST(RandomKernels, AreAFailureTogetherWhereNoneOfATextFailsAlone) {
  const auto dies_of_two = [](std::span<const Program> programs) {
    if (programs.size() > 1) std::_Exit(0);
  };
  EXPECT_EQ(failed_seeds({.first = 36, .count = 2, .before = dies_of_two}), (std::vector<std::string>{"seed 36: crash"}));
}

TEST(RandomKernels, AreTheSameForTheSameSeed) {
  EXPECT_EQ(random_program(7).source("k"), random_program(7).source("k"));
  EXPECT_NE(random_program(7).source("k"), random_program(8).source("k"));
}

TEST(RandomKernels, ShrinkToWhatFails) {
  const Program program = random_program(12);
  const auto fails = [](const Program& candidate) { return candidate.source("k").find("atomicAdd(acc, v3)") != std::string::npos; };
  ASSERT_TRUE(fails(program));
  const Program small = shrink(program, fails, 1000);
  EXPECT_TRUE(fails(small));
  EXPECT_LT(small.source("k").size(), 2 * program.source("k").size() / 3 + 400);
  EXPECT_EQ(small.launch.threads(), 1u);
}

}  // namespace
}  // namespace damo::random_kernels
