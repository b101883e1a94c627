// What the texts of convolutions and pooling have in common: the struct of sizes that kernels take by value, and types.
#pragma once
#include <algorithm>
#include <bit>
#include <string>

#include <damo/dtype.hpp>
#include <damo/launch_config.hpp>

#include "runtime/library/convolution.hpp"

namespace damo {

/// Defines T, an element, Word, as many bits, SUM, what sums are in, and TO_SUM, TO_T between the two.
inline std::string element_text(DType dtype) {
  const std::string word = dtype == float64 ? "unsigned long long" : dtype == float32 ? "unsigned int" : "unsigned short";
  const auto define = [&](const char* type, const char* sum, const char* read, const char* make) {
    return "typedef " + word + " Word;\n#define T " + type + "\n#define SUM " + sum + "\n#define TO_SUM(x) " + read + "(x)\n#define TO_T(x) " + make + "(x)\n";
  };
  if (dtype == float16) return "#include <cuda_fp16.h>\n" + define("__half", "float", "__half2float", "__float2half_rn");
  if (dtype == bfloat16) return "#include <cuda_bf16.h>\n" + define("__nv_bfloat16", "float", "__bfloat162float", "__float2bfloat16_rn");
  return dtype == float64 ? define("double", "double", "", "") : define("float", "float", "", "");
}

/// Of a kernel's argument; kSizesText has the same in CUDA C.
struct Sizes {
  explicit Sizes(const Convolution& c)
      : batch(c.batch), groups(c.groups), channels(c.channels), outputs(c.outputs), in(c.in), kernel(c.kernel), out(c.out), stride(c.stride), dilation(c.dilation), padding(c.padding) {}
  std::int64_t batch, groups, channels, outputs;
  Extents3 in, kernel, out, stride, dilation, padding;
};
inline constexpr const char* kSizesText = R"(
struct Sizes {
  long long batch, groups, channels, outputs, in[3], kernel[3], out[3], stride[3], dilation[3], padding[3];
};
)";

/// Loops over rows of elements, with FOR_EACH_ROW, and over a row's, with FOR_EACH_IN_ROW. On a GPU a thread has an element, threads of a block lie along rows and
/// then across them; on a CPU a block is one thread, which has neighbouring rows and whose loop over the row becomes vectors.
inline constexpr const char* kRowsText = R"(
#if IS_HOST
#define FOR_EACH_ROW(row, rows) \
  for (long long row = (long long)blockIdx.x * (rows) / gridDim.x, end_row = ((long long)blockIdx.x + 1) * (rows) / gridDim.x; row < end_row; ++row)
#define FOR_EACH_IN_ROW(i, count) for (long long i = 0; i < (count); ++i)
#else
#define FOR_EACH_ROW(row, rows) \
  for (long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y; row < (rows); row += (long long)gridDim.x * blockDim.y)
#define FOR_EACH_IN_ROW(i, count) for (long long i = threadIdx.x; i < (count); i += blockDim.x)
#endif
)";

/// The launch of a kernel that has these loops.
inline LaunchConfig rows_launch_of(bool is_host, std::int64_t rows, std::int64_t length) {
  constexpr std::int64_t kThreads = 128, kMostBlocks = 1 << 20, kHostBlocks = 256;
  if (is_host) return {.grid = {std::min(rows, kHostBlocks)}, .block = {1}};
  const auto along = static_cast<std::int64_t>(std::min<std::uint64_t>(std::bit_ceil(static_cast<std::uint64_t>(length)), kThreads)), across = kThreads / along;
  return {.grid = {std::min((rows + across - 1) / across, kMostBlocks)}, .block = {along, across}};
}

}  // namespace damo
