#include "runtime/kernel/users_text.hpp"

#include <algorithm>

namespace damo {

std::string users_head(const KernelSpec& spec) {
  const auto has = [&](DType dtype) {
    return std::find(spec.inputs.begin(), spec.inputs.end(), dtype) != spec.inputs.end() || std::find(spec.outputs.begin(), spec.outputs.end(), dtype) != spec.outputs.end();
  };
  std::string text;
  if (has(float16)) text += "#include <cuda_fp16.h>\n";
  if (has(bfloat16)) text += "#include <cuda_bf16.h>\n";
  if (has(float8_e4m3) || has(float8_e5m2)) text += "#include <cuda_fp8.h>\n";
  text += spec.users_text->preamble + "#line 1 \"generated\"\n#undef A\n#undef N\n#undef T\n#undef Joined\nnamespace damo_generated {\n";
  text += "typedef signed char i8; typedef short i16; typedef int i32; typedef long long i64;\n";
  text += "typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;\n";
  if (has(float16)) text += "typedef __half half;\n";
  if (has(bfloat16)) text += "typedef __nv_bfloat16 bfloat16;\n";
  if (has(float8_e4m3)) text += "typedef __nv_fp8_e4m3 float8_e4m3;\n";
  if (has(float8_e5m2)) text += "typedef __nv_fp8_e5m2 float8_e5m2;\n";
  if (spec.has_ordinals()) {
    text += "struct Ordinals {\n  u64 first;\n  __device__ __forceinline__ Ordinals operator+(i64 n) const { return Ordinals{first + u64(n)}; }\n";
    text += "  __device__ __forceinline__ i64 operator[](i64 n) const { return i64(first + u64(n)); }\n  __device__ __forceinline__ i64 operator*() const { return i64(first); }\n";
    text += "  template <int Count> __device__ __forceinline__ i64 among(int k) const { return i64((first & ~u64(Count - 1)) | u64(k)); }\n};\n";
  }
  return text + "template <class To, class From> __device__ __forceinline__ To convert(From x) { return To(x); }\n";
}

}  // namespace damo
