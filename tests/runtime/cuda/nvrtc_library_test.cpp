#include "runtime/cuda/nvrtc_library.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <damo/error.hpp>

#include "runtime/cuda/nvrtc.hpp"

namespace damo::cuda_backend {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

/// An empty directory, and DAMO_NVRTC_PATH pointing there.
class NvrtcSearch : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    setenv("DAMO_NVRTC_PATH", directory_.c_str(), 1);
  }
  void TearDown() override {
    unsetenv("DAMO_NVRTC_PATH");
    fs::remove_all(directory_);
  }
  void make(const std::string& name, const std::string& text = "x") { std::ofstream(directory_ / name) << text; }
  const fs::path directory_ = fs::path(::testing::TempDir()) / ("damo_nvrtc_" + std::to_string(getpid()));
};

TEST_F(NvrtcSearch, LooksNowhereElseOnceItIsToldWhere) {
  EXPECT_EQ(find_nvrtc(), "");
  EXPECT_EQ(nvrtc_file_stamp(find_nvrtc()), "none");
}

TEST_F(NvrtcSearch, TakesTheNewestOfSeveral) {
  make("libnvrtc.so.12");
  EXPECT_EQ(find_nvrtc(), (directory_ / "libnvrtc.so.12").string());
  make("libnvrtc.so.13");
  EXPECT_EQ(find_nvrtc(), (directory_ / "libnvrtc.so.13").string());
}

TEST_F(NvrtcSearch, TakesAFileToo) {
  make("my_nvrtc.so");
  setenv("DAMO_NVRTC_PATH", (directory_ / "my_nvrtc.so").c_str(), 1);
  EXPECT_EQ(find_nvrtc(), (directory_ / "my_nvrtc.so").string());
}

TEST_F(NvrtcSearch, StampsALibraryByTheVersionInItsRealName) {
  make("libnvrtc.so.13.0.88");
  fs::create_symlink("libnvrtc.so.13.0.88", directory_ / "libnvrtc.so");
  EXPECT_EQ(nvrtc_file_stamp(find_nvrtc()), "libnvrtc.so.13.0.88");
}

TEST_F(NvrtcSearch, StampsALibraryWithoutAVersionBySizeAndTime) {
  make("libnvrtc.so.13", "one");
  const std::string before = nvrtc_file_stamp(find_nvrtc());
  EXPECT_THAT(before, ::testing::StartsWith("libnvrtc.so.13-3-"));
  make("libnvrtc.so.13", "other");
  EXPECT_NE(nvrtc_file_stamp(find_nvrtc()), before);
}

bool nvrtc_is_mapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("libnvrtc") != std::string::npos) return true;
  }
  return false;
}

// In processes of their own, since a library stays open once it is.
class NvrtcInANewProcess : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(NvrtcInANewProcess, IsNotOpenedForTheStamp) {
  if (find_nvrtc().empty()) GTEST_SKIP() << "needs NVRTC";
  const auto child = [] {
    const NvrtcCompiler compiler(90);
    const bool stamped = compiler.stamp().find("libnvrtc") != std::string::npos && !nvrtc_is_mapped();
    compiler.compile({"extern \"C\" __global__ void f() {}"});
    std::exit(stamped && nvrtc_is_mapped() ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(NvrtcInANewProcess, SaysWhatToInstallWhereThereIsNone) {
  const auto child = [] {
    setenv("DAMO_NVRTC_PATH", "/nonexistent/toolkit", 1);
    try {
      NvrtcCompiler(90).compile({"extern \"C\" __global__ void f() {}"});
    } catch (const DeviceError& error) {
      std::fputs(error.what(), stderr);
      std::exit(3);
    }
    std::exit(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(3),
              "DAMO_NVRTC_PATH is /nonexistent/toolkit(.|\n)*install the CUDA toolkit");
}

}  // namespace
}  // namespace damo::cuda_backend
