// The damo command, run as a process.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

namespace damo {
namespace {

using testing::Environment;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ScratchDirectory;
using ::testing::StartsWith;

struct Result {
  int code = -1;
  std::string output;  // standard output
};

Result run(const std::string& arguments, const char* streams = "2>/dev/null") {
  Result result;
  std::ostringstream command;  // GCC 12 warns wrongly of a sum of strings that begins with a literal
  command << DAMO_COMMAND << " " << arguments << " " << streams;
  std::FILE* pipe = popen(command.str().c_str(), "r");
  if (!pipe) return result;
  char buffer[4096];
  for (std::size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    result.output.append(buffer, count);
  const int status = pclose(pipe);
  result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}

/// Standard error.
std::string errors_of(const std::string& arguments) { return run(arguments, "2>&1 >/dev/null").output; }

TEST(DamoCommand, ExplainsItselfWithoutArguments) {
  const Result result = run("");
  EXPECT_EQ(result.code, 0);
  for (const char* word : {"devices", "doctor", "ops", "cache", "DAMO_DEVICE"})
    EXPECT_THAT(result.output, HasSubstr(word));
}

TEST(DamoCommand, RefusesAnUnknownCommandAndNamesThoseThatThereAre) {
  EXPECT_EQ(errors_of("dance"), "damo: there is no command 'dance'; its commands are devices, doctor, ops, cache\n");
  EXPECT_EQ(errors_of("cache nosuch"), "damo cache: there is no command 'nosuch'; its commands are list, clear\n");
  EXPECT_EQ(errors_of("cache lst"), "damo cache: there is no command 'lst'; the nearest is list, its commands are list, clear\n");
  EXPECT_EQ(errors_of("doctor --quick"), "damo doctor: there is no option '--quick'; see damo doctor --help\n");
  EXPECT_EQ(errors_of("cache"), "damo cache: a command is missing; its commands are list, clear\n");
  for (const char* wrong : {"dance", "cache nosuch", "doctor --quick", "cache", "ops --json --markdown"}) EXPECT_EQ(run(wrong).code, 2) << wrong;
}

TEST(DamoCommand, OpsTableOfTheManualIsTheOneItPrints) {
  std::ifstream file(DAMO_SOURCE_DIR "/docs/ops.md");
  const std::string manual(std::istreambuf_iterator<char>(file), {});
  const Result result = run("ops --markdown");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, manual) << "run: damo ops --markdown > docs/ops.md";
}

TEST(DamoCommand, OpsGivesNameInputsAndDoc) {
  EXPECT_THAT(run("ops").output, HasSubstr("hypot"));
  EXPECT_THAT(run("ops --json").output, HasSubstr("\"name\": \"hypot\""));
}

TEST(DamoCommand, CacheOfANewDirectoryIsEmpty) {
  const ScratchDirectory directory;
  const Environment cache("DAMO_CACHE_DIR", directory / "cache");
  EXPECT_THAT(run("cache list").output, HasSubstr("0 kernels"));
  EXPECT_THAT(run("cache list --json").output, HasSubstr("\"entries\": []"));
}

TEST(DamoCommand, DoctorSaysWhyTheDefaultDeviceCannotWork) {
  const Environment device("DAMO_DEVICE", "abacus");
  const Result result = run("doctor");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.output, HasSubstr("abacus"));
  EXPECT_THAT(run("doctor --json").output, HasSubstr("\"works\": false"));
}

TEST(DamoCommand, DoctorMentionsAWrongVariableAndListsThemAll) {
  const Environment device("DAMO_DEVICE", "gpu"), typo("DAMO_DISABEL", "x"), level("DAMO_LOG", "error");
  const Result result = run("doctor");
  EXPECT_THAT(result.output, HasSubstr("DAMO_DEVICE is 'gpu'; it takes cpu, cuda, cuda:1, null"));
  EXPECT_THAT(result.output, HasSubstr("DAMO_DISABEL is no variable of Damo's; DAMO_DISABLE is"));
  EXPECT_THAT(result.output, HasSubstr("  DAMO_LOG = error\n"));
  EXPECT_THAT(result.output, HasSubstr("  DAMO_CACHE_LIMIT"));
  EXPECT_THAT(run("doctor --json").output, HasSubstr("\"name\": \"DAMO_CACHE_LIMIT\""));
}

TEST(DamoCommand, DoctorMentionsPassesThatThereAreNot) {
  const Environment disable("DAMO_DISABLE", "replay,simplfy,fuse_elementwise");
  const Result result = run("doctor");
  EXPECT_THAT(result.output, HasSubstr("DAMO_DISABLE names 'simplfy', which is no pass or rule of Damo's own"));
  EXPECT_THAT(result.output, HasSubstr("the nearest is simplify"));
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("names 'replay'")));
  EXPECT_THAT(result.output, ::testing::Not(HasSubstr("names 'fuse_elementwise'")));
}

TEST(DamoCommand, DoctorMentionsACacheDirectoryThatIsNone) {
  const Environment cache("DAMO_CACHE_DIR", "/etc/passwd");
  EXPECT_THAT(run("doctor").output, HasSubstr("broken   kernel cache     /etc/passwd is no directory"));
}

TEST(DamoCommand, SaysWhereItsOutputIsLost) {
  const Result result = run("ops > /dev/full");
  EXPECT_EQ(result.code, 1);
}

TEST(DamoCommand, WritesJsonOfBytesThatAreNoText) {
  const Environment path("DAMO_LAPACK_PATH", "/nowhere/\xff");
  EXPECT_THAT(run("doctor --json").output, HasSubstr("\"value\": \"/nowhere/\xEF\xBF\xBD\""));
}

TEST(DamoCommand, ClearsNoCacheWhereThereIsNone) {
  const Environment limit("DAMO_CACHE_LIMIT", "0");
  EXPECT_THAT(run("cache clear").output, HasSubstr("there is no cache: no home directory, or DAMO_CACHE_LIMIT=0"));
}

#if DAMO_HAS_CPU
TEST(DamoCommand, DoctorSaysWhatMultipliesMatrices) {
  const Environment blas("DAMO_BLAS_PATH", "none"), onednn("DAMO_ONEDNN_PATH", "none");
  const std::string text = run("doctor").output;
  EXPECT_THAT(text, HasSubstr("missing  CPU products     no BLAS library"));
  EXPECT_THAT(text, HasSubstr("missing  CPU products     no oneDNN, which would be quicker for bfloat16 and int8: "));
}

TEST(DamoCommand, DoctorSaysWhatFactorsMatrices) {
  EXPECT_THAT(run("doctor").output, HasSubstr("CPU factors"));
  const Environment lapack("DAMO_LAPACK_PATH", "/nowhere/liblapack.so");
  EXPECT_THAT(run("doctor").output, HasSubstr("broken   CPU factors      DAMO_LAPACK_PATH is '/nowhere/liblapack.so', which is no LAPACK library"));
}
#endif

TEST(DamoCommand, DoctorNamesTheVariableThatChoseADeviceThatIsNotThere) {
  const Environment device("DAMO_DEVICE", "cuda:99");
  EXPECT_THAT(run("doctor").output, HasSubstr("DAMO_DEVICE is 'cuda:99'"));
}

TEST(DamoCommand, DoctorNamesTheCommandThatMendsTheCacheDirectory) {
  const ScratchDirectory directory;
  const std::string path = directory / "open";
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  ASSERT_EQ(chmod(path.c_str(), 0777), 0);
  const Environment cache("DAMO_CACHE_DIR", path);
  EXPECT_THAT(run("doctor").output, HasSubstr("chmod go-w"));
}

#if DAMO_HAS_CPU
TEST(DamoCommand, DoctorRunsAKernelOnCpuAndKeepsItInTheCache) {
  const ScratchDirectory directory;
  const Environment cache("DAMO_CACHE_DIR", directory / "cache");
  const Environment device("DAMO_DEVICE", "cpu");
  const Result result = run("doctor");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("cpu compiled and ran a kernel"));
  EXPECT_THAT(run("cache list").output, Not(HasSubstr(" 0 kernels")));
  EXPECT_THAT(run("cache clear").output, HasSubstr("1 kernels deleted"));
  EXPECT_THAT(run("cache list").output, HasSubstr("0 kernels"));
}

TEST(DamoCommand, DevicesListsTheCpuOnCpu) {
  const Environment device("DAMO_DEVICE", "cpu");
  EXPECT_THAT(run("devices").output, HasSubstr("(default)"));
  EXPECT_THAT(run("devices --json").output, HasSubstr("\"name\": \"cpu\""));
}
#endif

}  // namespace
}  // namespace damo
