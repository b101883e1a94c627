// The plain texts of convolutions and pooling, compiled for a GPU without one.
#include <gtest/gtest.h>

#include "runtime/backend.hpp"
#if DAMO_HAS_CUDA
#include "runtime/cuda/nvrtc.hpp"
#endif
#include "runtime/library/direct_convolution.hpp"
#include "runtime/library/pooling.hpp"

namespace damo {
namespace {

#if DAMO_HAS_CUDA
void expect_compiles(const std::string& source, const char* kernel) {
  const cuda_backend::NvrtcCompiler compiler(90);
  CompileRequest request;
  request.source = source;
  request.kind = SourceKind::kCudaC;
  request.file_name = "windows.cu";
  request.kernels = {kernel};
  EXPECT_FALSE(compiler.compile(request).bytes.empty()) << source;
}

TEST(WindowsNvrtc, CompileForEveryRole) {
  for (const ConvolutionRole role : {ConvolutionRole::kForward, ConvolutionRole::kInputGradient, ConvolutionRole::kWeightGradient}) {
    expect_compiles(direct_text(role, role == ConvolutionRole::kForward ? float16 : float32, false), "convolve");
  }
  Convolution windows{.dtype = float32, .kernel = {1, 3, 3}, .stride = {1, 2, 2}, .padding = {0, 1, 1}};
  for (const PoolingRole role : {PoolingRole::kMax, PoolingRole::kMaxGradient, PoolingRole::kMaxAt, PoolingRole::kMean, PoolingRole::kMeanGradient}) {
    expect_compiles(pooling_text({role, windows, false}, false), "pool");
  }
  windows.kernel = {1, 2, 2};  // apart
  windows.dtype = bfloat16;
  expect_compiles(pooling_text({PoolingRole::kMaxGradient, windows, true}, false), "pool");
}

#endif

}  // namespace
}  // namespace damo
