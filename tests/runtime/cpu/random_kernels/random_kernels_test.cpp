// Random programs: what the compiler makes of a kernel in any form is what its text says, thread by thread.
#include <gtest/gtest.h>

#include <damo/device.hpp>
#include <damo/error.hpp>

#include "runtime/cpu/random_kernels/campaign.hpp"
#include "runtime/cpu/random_kernels/kernel_writer.hpp"
#include "runtime/cpu/random_kernels/shrink.hpp"
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
  EXPECT_EQ(failures_of({.first = 1, .count = 300, .jobs = 2, .seconds = 36, .attempts = 60, .shrunk = 2}), "");
}

#if DAMO_HAS_CUDA
TEST(RandomKernels, CompileWithNvrtc) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const std::string source = random_program(seed).source("k");
    EXPECT_FALSE(compiler.compile({.source = source, .kind = SourceKind::kCudaC, .file_name = "k.cu"}).bytes.empty()) << "seed " << seed;
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
  EXPECT_EQ(failures_of({.first = 1, .count = 300, .jobs = 2, .seconds = 36, .on_gpu = true, .attempts = 60, .shrunk = 2}), "");
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
