// When oneDNN is opened, what chooses it, and what is said. Each in a process of its own, as a library is opened once; a code says which expectation failed.
#include "runtime/cpu/onednn_library.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <damo/array.hpp>
#include <damo/error.hpp>

#include "runtime/library/matrix_library.hpp"

namespace damo::cpu_backend {
namespace {

using ::testing::ExitedWithCode;

std::string mapped_files() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  return text.str();
}
bool is_mapped() { return mapped_files().find("dnnl") != std::string::npos; }

/// The product of matrices of ones, (32, 48) and (48, 64), in the dtype that the device's library asks for: whether each element is 48.
bool multiplies(DType operands, DType result) {
  const Device cpu("cpu");
  const auto library = MatrixLibrary::of(cpu.backend());
  const DType computed = library->computes_as(operands);
  if (computed != operands) result = computed;
  const auto prepared = library->prepare({.operands = computed, .result = result, .m = 32, .n = 64, .k = 48, .a = {48, 1}, .b = {64, 1}, .c = {64, 1}});
  const Array a = Array::full({32, 48}, 1, computed, cpu), b = Array::full({48, 64}, 1, computed, cpu), c = Array::full({32, 64}, 0, result, cpu);
  const Array workspace = Array::empty({static_cast<std::int64_t>(prepared->workspace_bytes())}, uint8, cpu);
  prepared->run({.a = a.data(), .b = b.data(), .result = c.data()}, workspace.data(), nullptr);
  for (const double value : c.to_doubles()) {
    if (value != 48) return false;
  }
  return true;
}

class OneDnnLibraryOnCpu : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(OneDnnLibraryOnCpu, IsOpenedAtTheFirstProductThatItTakes) {
  EXPECT_EXIT(
      {
        if (!multiplies(float32, float32) || is_mapped()) std::exit(1);
        if (!multiplies(bfloat16, bfloat16) || is_mapped() != (onednn() != nullptr)) std::exit(2);
        const auto library = MatrixLibrary::of(Device("cpu").backend());
        if (onednn() && onednn()->has_bfloat16 && (library->computes_as(bfloat16) != bfloat16 || library->engine()->name(bfloat16).find("oneDNN ") != 0)) std::exit(3);
        if (library->has(float32) && library->engine()->name(float32).find("oneDNN") != std::string::npos) std::exit(4);
        std::exit(multiplies(int8, int32) ? 0 : 5);
      },
      ExitedWithCode(0), "");
}

TEST_F(OneDnnLibraryOnCpu, IsNotOpenedWhereTheEnvironmentSaysNone) {
  EXPECT_EXIT(
      {
        setenv("DAMO_ONEDNN_PATH", "none", 1);
        if (!multiplies(bfloat16, bfloat16)) std::exit(1);
        if (!multiplies(bfloat16, float32)) std::exit(2);
        if (!multiplies(int8, int32)) std::exit(3);
        std::exit(onednn() || is_mapped() ? 4 : 0);
      },
      ExitedWithCode(0), "");
}

TEST_F(OneDnnLibraryOnCpu, IsNotOpenedWhereALevelOfInstructionsIsChosen) {
  EXPECT_EXIT(
      {
        setenv("DAMO_CPU_ISA", "x86-64-v2", 1);
        if (!multiplies(bfloat16, bfloat16)) std::exit(1);
        if (!multiplies(int8, int32)) std::exit(2);
        std::exit(is_mapped() ? 3 : 0);
      },
      ExitedWithCode(0), "");
}

TEST_F(OneDnnLibraryOnCpu, MultipliesNothingWithInstructionsThatItMayNotUse) {
  EXPECT_EXIT(
      {
        setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE", 1);
        if (onednn() && (onednn()->has_bfloat16 || onednn()->has_int8)) std::exit(1);
        if (!multiplies(bfloat16, bfloat16)) std::exit(2);
        std::exit(multiplies(int8, int32) ? 0 : 3);
      },
      ExitedWithCode(0), "");
}

TEST_F(OneDnnLibraryOnCpu, ThatIsNoneIsAnErrorWithTheRemedy) {
  if (!__builtin_cpu_supports("avx512vnni")) GTEST_SKIP() << "needs a CPU with instructions for int8";
  EXPECT_EXIT(
      {
        setenv("DAMO_ONEDNN_PATH", "/nonexistent/libdnnl.so", 1);
        try {
          multiplies(bfloat16, bfloat16);
        } catch (const DeviceError& error) {
          std::fputs(error.what(), stderr);
          std::exit(0);
        }
        std::exit(1);
      },
      ExitedWithCode(0),
      "DAMO_ONEDNN_PATH is '/nonexistent/libdnnl.so', which cannot be used: /nonexistent/libdnnl.so cannot be opened: (.|\n)*give the file of oneDNN 2 or 3, or none");
}

TEST_F(OneDnnLibraryOnCpu, ThatIsAnotherLibraryIsAnErrorWithItsName) {
  if (!__builtin_cpu_supports("avx512vnni")) GTEST_SKIP() << "needs a CPU with instructions for int8";
  EXPECT_EXIT(
      {
        setenv("DAMO_ONEDNN_PATH", "libm.so.6", 1);
        try {
          onednn();
        } catch (const DeviceError& error) {
          std::fputs(error.what(), stderr);
          std::exit(0);
        }
        std::exit(1);
      },
      ExitedWithCode(0), "DAMO_ONEDNN_PATH is 'libm.so.6', which cannot be used: libm.so.6 has no dnnl_version");
}

TEST_F(OneDnnLibraryOnCpu, SaysWhatFailed) {
  try {
    check_onednn(1, "dnnl_sgemm");
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), ::testing::StartsWith("oneDNN: dnnl_sgemm failed: out of memory\n  DAMO_ONEDNN_PATH=none computes without it"));
  }
  EXPECT_NO_THROW(check_onednn(0, "dnnl_sgemm"));
}

}  // namespace
}  // namespace damo::cpu_backend
