#include "runtime/cpu/guard_text.hpp"

#include <algorithm>

#include "runtime/kernel/body.hpp"
#include "runtime/kernel/float_bits.hpp"

namespace damo {
namespace {

std::string most(DType dtype) { return "most_" + storage_type(dtype); }
std::string lanes(DType dtype) { return "lanes_" + storage_type(dtype); }

}  // namespace

CpuGuardText::CpuGuardText(const KernelSpec& spec) : spec_(spec) {
  for (int output = 0; output < static_cast<int>(spec.outputs.size()); ++output) {
    const DType dtype = spec.outputs[static_cast<std::size_t>(output)];
    if (spec.is_guarded(output) && std::find(dtypes_.begin(), dtypes_.end(), dtype) == dtypes_.end()) dtypes_.push_back(dtype);
  }
  for (const DType dtype : dtypes_) {
    const FloatBits bits = float_bits(dtype);
    functions_ += "DAMO_FUNCTION void guard_take(" + std::string(bits.word) + "& most, const " + storage_type(dtype) + "& y) {\n  " + bits.word + " word;\n  __builtin_memcpy(&word, &y, sizeof word);\n";
    functions_ += std::string("  word &= ") + bits.magnitude + ";\n  most = word > most ? word : most;\n}\n";
    const std::string type = "Lanes_" + storage_type(dtype);
    functions_ += "typedef " + std::string(bits.word) + " " + type + " __attribute__((vector_size(64)));\n";
    functions_ += "DAMO_FUNCTION void guard_take_strip(" + type + "& most, const " + storage_type(dtype) + "* strip) {\n  for (unsigned long at = 0; at < sizeof *strip; ++at) {\n    " + type + " words;\n";
    functions_ += "    __builtin_memcpy(&words, reinterpret_cast<const char*>(strip) + at * 64, 64);\n    most = __builtin_elementwise_max(most, words & " + std::string(bits.magnitude) + ");\n  }\n}\n";
  }
}

std::string CpuGuardText::declarations(bool has_strips) const {
  std::string text;
  for (const DType dtype : dtypes_) {
    text += std::string(float_bits(dtype).word) + " " + most(dtype) + " = 0; ";
    if (has_strips) text += "Lanes_" + storage_type(dtype) + " " + lanes(dtype) + " = {}; ";
  }
  return text;
}

std::string CpuGuardText::take_strip(int output, const std::string& strip) const {
  return spec_.is_guarded(output) ? " guard_take_strip(" + lanes(spec_.outputs[static_cast<std::size_t>(output)]) + ", " + strip + ");" : "";
}

std::string CpuGuardText::take(int output, const std::string& stored) const {
  return spec_.is_guarded(output) ? " guard_take(" + most(spec_.outputs[static_cast<std::size_t>(output)]) + ", " + stored + ");" : "";
}

std::string CpuGuardText::tell(const std::string& flag, bool has_strips) const {
  std::string found, gathered;
  for (const DType dtype : dtypes_) {
    const std::string all = lanes(dtype), one = most(dtype);
    if (has_strips) gathered += "for (int i = 0; i < 64 / int(sizeof " + one + "); ++i) " + one + " = " + all + "[i] > " + one + " ? " + all + "[i] : " + one + "; ";
  }
  for (const DType dtype : dtypes_) found += (found.empty() ? "" : " || ") + most(dtype) + " >= " + float_bits(dtype).infinite;
  return found.empty() ? "" : gathered + "if (" + found + ") __atomic_store_n(" + flag + ", 1u, __ATOMIC_RELAXED);";
}

}  // namespace damo
