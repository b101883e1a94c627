// What the texts of convolutions and pooling have in common: the struct of sizes that kernels take by value, and types.
#pragma once
#include <string>

#include <damo/dtype.hpp>

#include "runtime/library/convolution.hpp"

namespace damo {

/// Defines T, an element, SUM, what sums are in, and TO_SUM, TO_T between the two.
inline std::string element_text(DType dtype) {
  const auto define = [](const char* type, const char* sum, const char* read, const char* make) {
    return "#define T " + std::string(type) + "\n#define SUM " + sum + "\n#define TO_SUM(x) " + read + "(x)\n#define TO_T(x) " + make + "(x)\n";
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

}  // namespace damo
