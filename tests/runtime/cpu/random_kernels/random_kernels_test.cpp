// Random programs: what the compiler makes of a kernel in any form is what its text says, thread by thread.
#include <gtest/gtest.h>

#include "runtime/cpu/random_kernels/campaign.hpp"
#include "runtime/cpu/random_kernels/kernel_writer.hpp"
#include "runtime/cpu/random_kernels/shrink.hpp"

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
  EXPECT_EQ(failures_of({.first = 1, .count = 60, .processes = 2, .seconds = 40, .attempts = 60, .shrunk = 2}), "");
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
