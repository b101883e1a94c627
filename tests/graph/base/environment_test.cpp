#include "graph/base/environment.hpp"

#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kName = "DAMO_SYNC";

TEST(Environment, SwitchesOnByOneAlone) {
  for (const char* off : {"", "0"}) {
    const testing::Environment variable(kName, off);
    EXPECT_FALSE(is_switched_on(kName));
  }
  const testing::Environment none(kName, nullptr);
  EXPECT_FALSE(is_switched_on(kName));
  const testing::Environment on(kName, "1");
  EXPECT_TRUE(is_switched_on(kName));
}

TEST(Environment, RefusesASwitchThatIsNeitherOnNorOff) {
  for (const char* text : {"yes", "true", "2", " 1"}) {
    const testing::Environment variable(kName, text);
    try {
      is_switched_on(kName);
      FAIL() << text;
    } catch (const OptionError& error) {
      EXPECT_EQ(std::string(error.what()), std::string("DAMO_SYNC is '") + text + "', which is neither 0 nor 1\n  DAMO_SYNC=1 switches it on");
    }
  }
}

TEST(Environment, ReadsNothingThatIsInNoTable) { EXPECT_THROW(environment("DAMO_NO_SUCH_THING"), InternalError); }

/// A copy of this program that runs as another user than its caller, who could have its code chosen by DAMO_PLUGIN_DIR.
TEST(Environment, IsIgnoredByAProgramThatRunsAsAnotherUserThanItsCaller) {
  constexpr uid_t kNobody = 65534;
  const testing::ScratchDirectory directory;
  const std::string copy = directory.path() + "/program";
  std::filesystem::copy_file("/proc/self/exe", copy);
  if (geteuid() != 0 || chown(copy.c_str(), kNobody, static_cast<gid_t>(-1)) != 0) GTEST_SKIP() << "needs root, to give a program to another user";
  ASSERT_EQ(chmod(copy.c_str(), S_ISUID | 0755), 0);
  struct statvfs system;
  ASSERT_EQ(statvfs(copy.c_str(), &system), 0);
  if ((system.f_flag & ST_NOSUID) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 0) GTEST_SKIP() << "needs a system that lets a program run as its owner";
  const testing::Environment plugins("DAMO_PLUGIN_DIR", directory.path()), home("HOME", directory.path());
  EXPECT_EQ(testing::in_child([&] {
              execl(copy.c_str(), "program", "--gtest_filter=EnvironmentOfAnotherUser.*", "--gtest_also_run_disabled_tests", nullptr);
              return 100;
            }), 0);
}
TEST(EnvironmentOfAnotherUser, DISABLED_IsIgnored) {
  ASSERT_NE(getauxval(AT_SECURE), 0u);
  ASSERT_NE(std::getenv("DAMO_PLUGIN_DIR"), nullptr) << "it would be found";
  EXPECT_EQ(environment("DAMO_PLUGIN_DIR"), "");
  EXPECT_EQ(environment("HOME"), "");
  EXPECT_THAT(environment_problems(), ::testing::IsEmpty());
  _exit(HasFailure() ? 1 : 0);  // at once: a sanitizer that looks for leaks traces its own process, which such a one may not
}

TEST(Environment, TellsANameThatIsNoneAndTheNearest) {
  const testing::Environment typo("DAMO_DISABEL", "fuse_elementwise"), far("DAMO_COLOUR_OF_THE_SKY", "blue");
  EXPECT_THAT(environment_problems(), Contains("DAMO_DISABEL is no variable of Damo's; DAMO_DISABLE is"));
  EXPECT_THAT(environment_problems(), Contains("DAMO_COLOUR_OF_THE_SKY is no variable of Damo's; `damo doctor` lists them"));
}

TEST(Environment, TellsAValueThatIsNone) {
  const std::pair<const char*, const char*> wrong[] = {
      {"DAMO_LOG", "verbose"}, {"DAMO_DEVICE", "gpu"}, {"DAMO_DEVICE", "cuda:x"}, {"DAMO_CPU_FORM", "loop"}, {"DAMO_CPU_ISA", "avx2"},
      {"DAMO_NUM_THREADS", "0"}, {"DAMO_CACHE_LIMIT", "1T"}, {"DAMO_KERNEL_TIME_LIMIT", "-1"}, {"DAMO_CHECK", "yes"},
      {"DAMO_CUDA_SCHEDULE", "256,4"}, {"DAMO_CUDA_TILE", "1,2,3,x"}, {"DAMO_CUDA_ROWS", "256,4"}};
  for (const auto& [name, value] : wrong) {
    const testing::Environment variable(name, value);
    EXPECT_THAT(environment_problems(), Contains(HasSubstr(std::string(name) + " is '" + value + "'; it takes "))) << name;
  }
  const testing::Environment log("DAMO_LOG", "verbose");
  EXPECT_THAT(environment_problems(), Contains("DAMO_LOG is 'verbose'; it takes debug, info, warning, error, off"));
}

TEST(Environment, HasNothingToSayOfWhatIsRight) {
  const std::pair<const char*, const char*> right[] = {
      {"DAMO_LOG", "debug"}, {"DAMO_DEVICE", "cuda:1"}, {"DAMO_DEVICE", "cpu"}, {"DAMO_DEVICE", ""}, {"DAMO_CPU_FORM", "reference"},
      {"DAMO_CPU_ISA", "x86-64-v3"}, {"DAMO_NUM_THREADS", "4096"}, {"DAMO_CACHE_LIMIT", "200M"}, {"DAMO_CACHE_LIMIT", "0"},
      {"DAMO_KERNEL_TIME_LIMIT", "2.5"}, {"DAMO_CHECK", "1"}, {"DAMO_CUDA_SCHEDULE", "256,4,1"}, {"DAMO_CUDA_TILE", "64,4,256,1"}, {"DAMO_CUDA_ROWS", "0,8,0,0"},
      {"DAMO_TEST_ANYTHING", "x"}};
  const std::vector<std::string> before = environment_problems();
  for (const auto& [name, value] : right) {
    const testing::Environment variable(name, value);
    EXPECT_EQ(environment_problems(), before) << name << "=" << value;
  }
}

TEST(Environment, IsReportedInOneLineWithTheFirstThatIsLogged) {
  const auto work = [] {
    setenv("DAMO_DISABEL", "x", 1);
    setenv("DAMO_LOG", "verbose", 1);
    std::vector<std::string> lines;
    set_log_sink([&](LogLevel, std::string_view line) { lines.emplace_back(line); });
    log(LogLevel::kInfo, "first");
    log(LogLevel::kInfo, "second");
    for (const std::string& line : lines) std::fprintf(stderr, "[%s]", line.c_str());
    std::exit(0);
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a process in which nothing was logged yet
  EXPECT_EXIT(work(), ::testing::ExitedWithCode(0),
              "\\[environment: DAMO_DISABEL is no variable of Damo's; DAMO_DISABLE is; DAMO_LOG is 'verbose'; it takes "
              "debug, info, warning, error, off\\]\\[first\\]\\[second\\]");
}

TEST(Environment, NearestIsTheWordWithTheFewestLettersToChange) {
  const std::string_view words[] = {"merge_duplicates", "fuse_elementwise"};
  EXPECT_EQ(nearest("fuse_elementwis", words), "fuse_elementwise");
  EXPECT_EQ(nearest("merge-duplicate", words), "merge_duplicates");
  EXPECT_EQ(nearest("constant_folding", words), "");
}

TEST(Environment, TheUserGuideHasTheTable) {
  std::ifstream file(DAMO_SOURCE_DIR "/docs/user_guide.md");
  std::vector<std::string> guide, table;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `DAMO_")) guide.push_back(line);
  }
  for (const EnvironmentVariable& variable : environment_variables()) {
    table.push_back("| `" + std::string(variable.name) + "` | " + variable.values + " | " + variable.standard + " | " + variable.meaning + " |");
  }
  EXPECT_EQ(guide, table);
}

}  // namespace
}  // namespace damo
