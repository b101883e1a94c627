#include "runtime/cuda/guard_text.hpp"

#include <algorithm>
#include <vector>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/float_bits.hpp"

namespace damo {
namespace {

constexpr const char* kLook = R"(template <class T> DAMO_FUNCTION void guard_look(u32* flag, const T& y) {
  if (guard_finds(y)) *flag = 1;
}
template <class T, int N> DAMO_FUNCTION void guard_look(u32* flag, const Vec<T, N>& y) {
  bool found = false;
#pragma unroll
  for (int k = 0; k < N; ++k) found |= guard_finds(y.e[k]);
  if (found) *flag = 1;
}
)";

}  // namespace

/// The empty asm keeps the compiler from knowing the bits for a float's: ptxas takes what it knows to be no less than 0 for a number (math::of_any_sign).
std::string cuda_guard_functions(const KernelSpec& spec) {
  std::string text;
  std::vector<DType> known;
  for (int output = 0; output < static_cast<int>(spec.outputs.size()); ++output) {
    const DType dtype = spec.outputs[static_cast<std::size_t>(output)];
    if (!spec.is_guarded(output) || std::find(known.begin(), known.end(), dtype) != known.end()) continue;
    known.push_back(dtype);
    const FloatBits bits = float_bits(dtype);
    const bool is_wide = itemsize(dtype) == 8;
    text += "DAMO_FUNCTION bool guard_finds(const " + storage_type(dtype) + "& y) {\n  " + bits.word + " word;\n  memcpy(&word, &y, sizeof word);\n";
    text += std::string("  ") + (is_wide ? "u64" : "u32") + " bits = word;\n  asm(\"\" : \"+" + (is_wide ? "l" : "r") + "\"(bits));\n";
    text += std::string("  return (bits & ") + bits.magnitude + ") >= " + bits.infinite + ";\n}\n";
  }
  return text.empty() ? text : text + kLook;
}

std::string cuda_look(const KernelSpec& spec, int output, const std::string& stored) { return spec.is_guarded(output) ? " guard_look(a.flag, " + stored + ");" : ""; }

}  // namespace damo
