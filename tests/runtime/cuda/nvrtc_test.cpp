#include "runtime/cuda/nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <damo/error.hpp>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/cuda_backend.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kScale = R"(template <class T>
__global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }
)";

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class NvrtcCompilerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  }
  CompiledCode compile(const std::string& source, SourceKind kind, std::vector<std::string> kernels = {},
                       std::vector<std::string> flags = {}) const {
    return compiler_.compile({source, kind, "scale.cu", std::move(kernels), std::move(flags)});
  }
  /// The error's log, or nothing if it compiles.
  std::string log_of(const std::string& source, SourceKind kind, std::vector<std::string> kernels = {},
                     std::vector<std::string> flags = {}) const {
    try {
      compile(source, kind, std::move(kernels), std::move(flags));
    } catch (const CompileError& error) {
      EXPECT_EQ(error.source(), source);
      EXPECT_THAT(error.what(), HasSubstr("scale.cu does not compile"));
      return error.log();
    }
    return {};
  }
  NvrtcCompiler compiler_{90};
};

TEST_F(NvrtcCompilerTest, ContractsProductsAndSumsUnlessToldNotTo) {
  for (const SourceKind kind : {SourceKind::kGenerated, SourceKind::kCudaC}) {
    CompileRequest request{"extern \"C\" __global__ void k(float* x) { x[0] = x[1] * x[2] + x[3]; }", kind, "k.cu", {"k"}, {"--gpu-architecture=compute_90"}};
    EXPECT_THAT(text_of(compiler_.compile(request).bytes), HasSubstr("fma.rn.f32"));
    request.options.contract = false;
    EXPECT_THAT(text_of(compiler_.compile(request).bytes), Not(HasSubstr("fma.rn.f32")));
  }
}

TEST_F(NvrtcCompilerTest, MakesACubinOfGeneratedText) {
  const auto code = compile(R"(using namespace damo;
extern "C" __global__ void k(const half* a, bfloat16* b, const f64* c, i64 n) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = sigmoid(tanh(float(a[i]))) + float(softplus(c[i]));
})",
                            SourceKind::kGenerated);
  EXPECT_THAT(text_of(code.bytes), StartsWith("\177ELF"));
  EXPECT_EQ(code.log, "");
}

TEST_F(NvrtcCompilerTest, GivesEqualCodeForEqualRequests) {
  const auto first = compile(kScale, SourceKind::kCudaC, {"scale<float>"});
  EXPECT_EQ(first.bytes, compile(kScale, SourceKind::kCudaC, {"scale<float>"}).bytes);
  EXPECT_NE(first.bytes, compile(kScale, SourceKind::kCudaC, {"scale<double>"}).bytes);
}

TEST_F(NvrtcCompilerTest, KeepsTheLoweredNamesOfTemplates) {
  const auto container = unpack(compile(kScale, SourceKind::kCudaC, {"scale<float>", "scale<int>", "twice"}).bytes);
  ASSERT_EQ(container.names.size(), 3u);
  EXPECT_EQ(container.names.at("scale<float>").lowered, "_Z5scaleIfEvPT_S0_i");
  EXPECT_EQ(container.names.at("scale<int>").lowered, "_Z5scaleIiEvPT_S0_i");
  EXPECT_EQ(container.names.at("twice").lowered, "twice");
  EXPECT_THAT(text_of(container.code), StartsWith("\177ELF"));
  EXPECT_THAT(text_of(container.code), HasSubstr("_Z5scaleIfEvPT_S0_i"));
}

TEST_F(NvrtcCompilerTest, StoresACubinBareWhereNothingIsKnownOfNames) {
  EXPECT_THAT(text_of(compile(kScale, SourceKind::kCudaC).bytes), StartsWith("\177ELF"));
}

TEST_F(NvrtcCompilerTest, NamesTheUsersFileAndLine) {
  const std::string log =
      log_of("extern \"C\" __global__ void f(float* x) {\n  x[0] = 1;\n  x[1] = y;\n}\n", SourceKind::kCudaC);
  EXPECT_THAT(log, HasSubstr("scale.cu(3)"));
  EXPECT_THAT(log, HasSubstr("\"y\" is undefined"));
}

TEST_F(NvrtcCompilerTest, CountsTheLinesOfGeneratedTextWithoutThePrelude) {
  EXPECT_THAT(log_of("\nextern \"C\" __global__ void f() { g(); }\n", SourceKind::kGenerated),
              HasSubstr("scale.cu(2)"));
}

TEST_F(NvrtcCompilerTest, NamesAKernelThatIsNotThere) {
  EXPECT_THAT(log_of(kScale, SourceKind::kCudaC, {"shrink"}), HasSubstr("shrink"));
}

TEST_F(NvrtcCompilerTest, PassesFlagsOn) {
  const std::string source = "extern \"C\" __global__ void f(float* x) { x[0] = BY; }";
  EXPECT_THAT(log_of(source, SourceKind::kCudaC), HasSubstr("BY"));
  EXPECT_EQ(log_of(source, SourceKind::kCudaC, {}, {"-DBY=3"}), "");
  EXPECT_THAT(log_of(source, SourceKind::kCudaC, {}, {"-DBY=3", "-no-such-flag"}), HasSubstr("no-such-flag"));
}

TEST_F(NvrtcCompilerTest, GivesWarningsWithTheCode) {
  const auto code = compile("extern \"C\" __global__ void f() { int unused; }", SourceKind::kCudaC);
  EXPECT_THAT(code.log, HasSubstr("unused"));
}

TEST_F(NvrtcCompilerTest, KnowsWhatNvccDeclaresWithoutAnInclude) {
  EXPECT_EQ(log_of(R"(__global__ void f(float* x, int32_t n, uint64_t m, uint u) {
  x[0] = INFINITY + FLT_MAX + n + m + INT_MAX + u;
  x[1] = M_PI * fminf(NAN, CUDART_INF_F);
})",
                   SourceKind::kCudaC),
            "");
}

TEST_F(NvrtcCompilerTest, LetsAProgramDeclareTheSameForItself) {
  EXPECT_EQ(
      log_of(
          "typedef unsigned int uint32_t;\n#define M_PI 3.14159265358979323846\n#ifndef INT_MAX\n#error none\n#endif\n"
          "__global__ void f(uint32_t* x) { x[0] = M_PI; }",
          SourceKind::kCudaC),
      "");
}

TEST_F(NvrtcCompilerTest, MakesNoHighProductsThatPtxasLosesInSums) {
  const auto code = compile(R"(extern "C" __global__ void f(unsigned* x, int* y, unsigned a, int b) {
  const unsigned i = threadIdx.x;
  for (int k = 4; --k >= 0;) {
    x[i] += __umulhi(a, i), y[i] += ::__mulhi(b, y[0]);
    if ((i >> 7) * 2 == 3) break;
  }
})",
                            SourceKind::kCudaC, {}, {"--gpu-architecture=compute_75"});
  EXPECT_THAT(text_of(code.bytes), HasSubstr("mul.wide.u32"));
  EXPECT_THAT(text_of(code.bytes), Not(HasSubstr("mul.hi")));
}

TEST_F(NvrtcCompilerTest, FindsTheToolkitsHeadersForCudaC) {
  const std::string log =
      log_of("#include <cuda_fp16.h>\n__global__ void f(__half* x) { x[0] = __float2half(2.f); }", SourceKind::kCudaC);
  if (log.find("cannot open source file") != std::string::npos) GTEST_SKIP() << "needs CUDA's headers beside NVRTC";
  EXPECT_EQ(log, "");
}

TEST_F(NvrtcCompilerTest, GivesPtxForAGpuNewerThanTheToolkit) {
  const auto code = NvrtcCompiler(999).compile({"extern \"C\" __global__ void f() {}", SourceKind::kGenerated});
  EXPECT_THAT(text_of(code.bytes), HasSubstr(".version"));
  EXPECT_EQ(code.bytes.back(), std::byte{0}) << "the driver reads PTX as a C string";
}

TEST_F(NvrtcCompilerTest, SaysWhichToolkitAnOldGpuNeeds) {
  try {
    NvrtcCompiler(20).compile({"extern \"C\" __global__ void f() {}", SourceKind::kGenerated});
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("sm_20"));
    EXPECT_THAT(error.what(), HasSubstr("DAMO_NVRTC_PATH"));
  }
}

TEST_F(NvrtcCompilerTest, CompilesOnSeveralThreadsAtOnce) {
  const auto expected = compile(kScale, SourceKind::kCudaC, {"scale<float>"}).bytes;
  std::vector<std::vector<std::byte>> results(8);
  std::vector<std::thread> threads;
  for (auto& result : results) {
    threads.emplace_back([&] { result = compile(kScale, SourceKind::kCudaC, {"scale<float>"}).bytes; });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace damo::cuda_backend
