// No source text brings the compiler, or this process, down: a few hundred here, any number by hand:
//   test_runtime_cpu_fuzz --count=100000 [--first=0] [--show=17]
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "runtime/cpu/fuzz/fuzz_run.hpp"
#include "runtime/cpu/fuzz/seed_sources.hpp"
#include "runtime/cpu/fuzz/source_mutator.hpp"

namespace damo::cpu_backend::testing {
namespace {

std::string listed(const FuzzResult& result) {
  std::string text;
  for (const FuzzFailure& failure : result.failures) {
    text += std::to_string(failure.number) + ": " + failure.what + "\n" + mutated_source(failure.number).substr(0, 400) + "\n";
  }
  return text;
}

TEST(CudaCFuzz, GivesAnObjectOrALogForEverySource) {
  const FuzzResult hostile = fuzz_compiler(0, hostile_sources().size(), 60);
  EXPECT_TRUE(hostile.failures.empty()) << listed(hostile);
  const FuzzResult mutated = fuzz_compiler(1000000, 50, 60);
  EXPECT_TRUE(mutated.failures.empty()) << listed(mutated);
  EXPECT_GT(mutated.compiled, 1u);
  EXPECT_GT(mutated.refused, 25u);
  EXPECT_GT(mutated.ran, 0u);
}

}  // namespace

int run_by_hand(std::uint64_t first, std::uint64_t count) {
  const FuzzResult result = fuzz_compiler(first, count, 60, true);
  std::cout << result.compiled << " compiled, " << result.refused << " refused, " << result.ran << " launches, "
            << result.failures.size() << " failures\n"
            << listed(result);
  return result.failures.empty() ? 0 : 1;
}

}  // namespace damo::cpu_backend::testing

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  std::uint64_t first = 0, count = 0;
  for (int i = 1; i < argc; ++i) {
    const std::string_view option = argv[i];
    if (option.starts_with("--count=")) count = std::strtoull(argv[i] + 8, nullptr, 10);
    if (option.starts_with("--first=")) first = std::strtoull(argv[i] + 8, nullptr, 10);
    if (option.starts_with("--show=")) {
      std::cout << damo::cpu_backend::testing::mutated_source(std::strtoull(argv[i] + 7, nullptr, 10));
      return 0;
    }
  }
  return count > 0 ? damo::cpu_backend::testing::run_by_hand(first, count) : RUN_ALL_TESTS();
}
