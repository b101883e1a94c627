// The variables of compiled code, by their symbols.
#include "runtime/cuda/cubin_variables.hpp"

#include <gmock/gmock.h>

#include "runtime/cuda/code_container.hpp"
#include "runtime/cuda/nvrtc.hpp"
#include "runtime/kernel/host_code.hpp"

namespace damo::cuda_backend {
namespace {

using ::testing::IsSupersetOf;
using ::testing::IsEmpty;

std::vector<std::byte> code_of(const std::string& source) {
  CompileRequest request;
  request.source = source;
  request.kind = SourceKind::kCudaC;
  request.kernels = {kAllKernels};
  return unpack(NvrtcCompiler(90).compile(request).bytes).code;
}

TEST(CubinVariables, AreThoseOfTheCodeNvrtc) {
  const auto code = code_of("static __constant__ float m[4]; template <class T> __device__ T w; __global__ void k(float* y) { y[0] = m[1] + w<float>; }");
  EXPECT_THAT(cubin_variables(code), IsSupersetOf({"m", "_Z1wIfE"}));
}

TEST(CubinVariables, OfOtherAndOfDamagedCodeAreNoneNvrtc) {
  EXPECT_THAT(cubin_variables(std::as_bytes(std::span(".version 8.0", 12))), IsEmpty());
  auto code = code_of("__constant__ float m; __global__ void k(float* y) { y[0] = m; }");
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{64}, code.size() / 2}) cubin_variables(std::span(code).first(bytes));
  for (std::size_t at = 0; at < 64; ++at) {
    auto damaged = code;
    damaged[at] ^= std::byte{0xff};
    cubin_variables(damaged);
  }
}

}  // namespace
}  // namespace damo::cuda_backend
