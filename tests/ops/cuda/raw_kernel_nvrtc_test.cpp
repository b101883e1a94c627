// The source that RawKernel writes, under NVRTC: it compiles, for 16-bit types too, and messages name the user's line.
#include <gmock/gmock.h>

#include <damo/raw_kernel.hpp>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo {
namespace {

using ::testing::HasSubstr;

std::string log_of(const RawKernel& kernel, const std::string& name) {
  const cuda_backend::NvrtcCompiler compiler(90);
  CompileRequest request{kernel.source(), SourceKind::kCudaC, name + ".cu"};
  request.kernels = {"damo_" + name};
  try {
    return compiler.compile(request).log;
  } catch (const CompileError& error) {
    return error.log() + error.what();
  }
}

TEST(RawKernelNvrtc, CompilesDeclarationsOfEveryKind) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const RawKernel kernel{{.name = "every_kind",
                          .inputs = {"const half* h", "const __nv_bfloat16* b", "const bool* c", "const uint8_t* u",
                                     "strided const double* __restrict__ d"},
                          .outputs = {"float* y", "long long* z"},
                          .scalars = {"int size", "long long d_stride0", "size_t y_size"},
                          .body = R"(
    __shared__ float part[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    part[threadIdx.x % 64] = __half2float(h[i % size]);
    __syncthreads();
    y[i] = part[0] + __bfloat162float(b[i]) + (c[i] ? 1.0f : 0.0f) + u[i] + float(d[i * d_stride0]);
    z[i] = i + (long long)y_size;)"}};
  EXPECT_EQ(log_of(kernel, "every_kind"), "");
}

TEST(RawKernelNvrtc, NamesTheUsersLine) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const int line = __LINE__ + 1;
  const RawKernel kernel{{.name = "broken", .inputs = {"const float* x"}, .outputs = {"float* y"}, .body = R"(
    y[0] = missing;)"}};
  const std::string text = log_of(kernel, "broken");
  EXPECT_THAT(text, HasSubstr("raw_kernel_nvrtc_test.cpp(" + std::to_string(line + 1) + "): error"));
  EXPECT_THAT(text, HasSubstr(" " + std::to_string(line + 1) + " |     y[0] = missing;"));
}

}  // namespace
}  // namespace damo
