// Which kernels wait for the work that they follow before they touch memory: by the machine code, for texts and for what Damo writes.
#include "runtime/cuda/cubin_waits.hpp"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/dialect.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::byte> code_of(const std::string& source, SourceKind kind, int architecture = 90) {
  return unpack(NvrtcCompiler(architecture).compile({source, kind, "waits.cu", {"k"}}).bytes).code;
}
constexpr const char* kWait = "asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");";

TEST(CubinWaitsNvrtc, AreThoseInFrontOfEveryAccessToMemory) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const auto kernels = [](const std::string& body) {
    return kernels_that_wait_first(code_of("extern \"C\" __global__ void k(float* x, const float* y, int n) {\n  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n" + body + "\n}\n", SourceKind::kCudaC));
  };
  const std::string wait = kWait, work = "if (i < n) x[i] = y[i] * 2;";
  EXPECT_THAT(kernels(wait + work), ElementsAre("k"));
  EXPECT_THAT(kernels(work), IsEmpty()) << "it does not wait";
  EXPECT_THAT(kernels(work + wait), IsEmpty());
  EXPECT_THAT(kernels("const float v = *(const volatile float*)y;" + wait + "x[i] = v;"), IsEmpty()) << "a load before";
  EXPECT_THAT(kernels("x[0] = 1;" + wait + work), IsEmpty()) << "a store before";
  EXPECT_THAT(kernels("atomicAdd(x, 1);" + wait + work), IsEmpty());
  EXPECT_THAT(kernels("if (i < n) {" + wait + "} x[i] = 1;"), IsEmpty()) << "some threads do not wait";
  EXPECT_THAT(kernels("asm volatile(\"{ .reg .pred p; setp.lt.s32 p, %0, %1; @p griddepcontrol.wait; }\" :: \"r\"(i), \"r\"(n) : \"memory\"); x[i] = 1;"), IsEmpty()) << "some threads do not wait, without a branch";
  EXPECT_THAT(kernels("__shared__ float s[32]; s[threadIdx.x] = 1; __syncthreads();" + wait + "x[i] = s[0];"), IsEmpty()) << "more than registers: not known to be harmless";
}

TEST(CubinWaitsNvrtc, AreNoneOfOtherAndOfDamagedCode) {
  EXPECT_THAT(kernels_that_wait_first(std::as_bytes(std::span(".version 8.0", 12))), IsEmpty());
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::vector<std::byte> code = code_of("extern \"C\" __global__ void k(float* x) { " + std::string(kWait) + " x[0] = 1; }", SourceKind::kCudaC);
  ASSERT_THAT(kernels_that_wait_first(code), ElementsAre("k"));
  for (std::size_t left = 0; left < code.size(); left += 97) kernels_that_wait_first(std::span(code).first(left));  // reads nothing beyond
}

TEST(CubinWaitsNvrtc, AreThoseInWhichAllThreadsWait) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  std::vector<std::byte> code = code_of("extern \"C\" __global__ void k(float* x) { " + std::string(kWait) + " x[0] = 1; }", SourceKind::kCudaC);
  ASSERT_THAT(kernels_that_wait_first(code), ElementsAre("k"));
  int changed = 0;
  for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
    std::uint16_t word;
    std::memcpy(&word, &code[at], sizeof word);
    if (word != 0x782e) continue;
    word = 0x082e;  // of threads whose predicate 0 holds
    std::memcpy(&code[at], &word, sizeof word);
    ++changed;
  }
  EXPECT_EQ(changed, 1);
  EXPECT_THAT(kernels_that_wait_first(code), IsEmpty());
}

/// y = x * 2, and the sum of its rows or of its columns.
KernelSpec doubled() {
  KernelSpec spec;
  spec.name = "doubled";
  spec.inputs = {float32};
  Step step;
  step.name = "mul", step.code = "x0 * T(2)", step.compute = step.result = float32, step.inputs = {0}, step.cost = 1;
  spec.steps = {step};
  spec.stores = {1};
  spec.outputs = {float32};
  return spec;
}

TEST(CubinWaitsNvrtc, AreInKernelsThatDamoWrites) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const KernelSpec spec = doubled();
  const Layout flat{.rank = 1, .access = {Access::kDense, Access::kDense}};
  const auto kernels = [&](int architecture) {
    return kernels_that_wait_first(unpack(NvrtcCompiler(architecture).compile({cuda_dialect().emit(spec, flat), SourceKind::kGenerated, "waits.cu"}).bytes).code);
  };
  EXPECT_EQ(kernels(90).size(), 1u);
  EXPECT_THAT(kernels(80), IsEmpty()) << "GPUs before compute capability 9.0 know no such wait";
}

}  // namespace
}  // namespace damo::cuda_backend
