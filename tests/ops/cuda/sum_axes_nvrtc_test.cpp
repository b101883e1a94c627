// The kernels that sum gradients compile under NVRTC without a warning, for each floating dtype and several ranks.
#include "ops/sum_axes_thunk.hpp"

#include <gtest/gtest.h>

#include <damo/error.hpp>

#include "runtime/cuda/cuda_backend.hpp"
#include "runtime/cuda/nvrtc.hpp"

namespace damo::testing {
namespace {

TEST(SumAxesNvrtc, CompilesForTheGpu) {
  if (const auto problem = nvrtc_problem()) GTEST_SKIP() << "needs NVRTC: " << *problem;
  const cuda_backend::NvrtcCompiler compiler(90);
  for (const DType dtype : {float16, bfloat16, float32, float64}) {
    const DType partial = dtype == float64 ? float64 : float32;
    for (const auto& [kept, reduced] : {std::pair(1, 1), std::pair(2, 1), std::pair(1, 3)}) {
      CompileRequest request;
      request.source = sum_axes_source(dtype, kept, reduced);
      request.kind = SourceKind::kCudaC;
      request.kernels = {sum_axes_kernel(dtype, partial), sum_axes_kernel(partial, dtype)};
      try {
        EXPECT_EQ(compiler.compile(request).log, "") << name(dtype);
      } catch (const CompileError& error) {
        ADD_FAILURE() << error.log();
      }
    }
  }
}

}  // namespace
}  // namespace damo::testing
