#include "runtime/cpu/plugin_search.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/scratch_directory.hpp"

namespace damo::cpu_backend {
namespace {

using damo::testing::Environment;
using damo::testing::ScratchDirectory;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// root/lib/file, each as its owner's alone.
class PluginSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(mkdir(directory_.c_str(), 0755), 0);
    std::ofstream(file_) << "library";
    ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  }
  ScratchDirectory root_;
  std::string directory_ = root_ / "lib", file_ = root_ / "lib/file";
};

TEST_F(PluginSearch, TakesAFileThatNobodyElseCanReplace) { EXPECT_EQ(who_else_writes(file_), ""); }

TEST_F(PluginSearch, NamesThePlaceThatOthersCanWriteTo) {
  ASSERT_EQ(chmod(file_.c_str(), 0666), 0);
  EXPECT_EQ(who_else_writes(file_), "everybody can write to " + std::filesystem::canonical(file_).string());
  ASSERT_EQ(chmod(file_.c_str(), 0644), 0);
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_EQ(who_else_writes(file_), "everybody can write to " + std::filesystem::canonical(directory_).string());
  ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
  ASSERT_EQ(chmod(root_.path().c_str(), 0777), 0);
  EXPECT_EQ(who_else_writes(file_), "everybody can write to " + std::filesystem::canonical(root_.path()).string()) << "any directory above";
}

TEST_F(PluginSearch, LooksPastLinksAtTheFileItself) {
  const std::string link = root_ / "link";
  std::filesystem::create_symlink(file_, link);
  EXPECT_EQ(who_else_writes(link), "");
  ASSERT_EQ(chmod(directory_.c_str(), 0777), 0);
  EXPECT_THAT(who_else_writes(link), HasSubstr("everybody can write to"));
}

TEST_F(PluginSearch, RefusesWhatAnotherUserOwns) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to give a file away";
  ASSERT_EQ(chown(file_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(who_else_writes(file_), "user 12345 owns " + std::filesystem::canonical(file_).string());
}

TEST_F(PluginSearch, SaysWhatIsCutShort) {
  const std::string whole = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_FALSE(is_cut_short(whole));
  EXPECT_FALSE(is_cut_short(file_)) << "no library: the loader says so";
  EXPECT_FALSE(is_cut_short(root_ / "nowhere"));
  std::filesystem::copy_file(whole, file_, std::filesystem::copy_options::overwrite_existing);
  const auto size = std::filesystem::file_size(whole);
  // What is mapped comes first in the file: symbols, which a sanitizer doubles, may be the other half.
  for (const auto left : {size / 5, size / 10, std::uintmax_t{100}}) {
    std::filesystem::resize_file(file_, left);
    EXPECT_TRUE(is_cut_short(file_)) << left << " of " << size << " bytes";
  }
}

TEST_F(PluginSearch, LooksWhereTheEnvironmentSaysAlone) {
  const Environment chosen("DAMO_PLUGIN_DIR", "/opt/here");
  EXPECT_THAT(plugin_candidates("x.so"), ElementsAre("/opt/here/x.so"));
}

/// A directory that a build once had may be made by anybody later, /tmp/build for instance.
TEST_F(PluginSearch, LooksInAbsolutePlacesThatTheProgramOrItsInstallationKnows) {
  const Environment none("DAMO_PLUGIN_DIR", nullptr);
  const auto candidates = plugin_candidates("x.so");
  EXPECT_THAT(candidates, Each(StartsWith("/")));
  EXPECT_THAT(candidates, Each(EndsWith("/x.so")));
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  EXPECT_EQ(candidates.front(), own + "/x.so");
}

}  // namespace
}  // namespace damo::cpu_backend
