#include "runtime/cuda/prelude.hpp"

#include <algorithm>
#include <string_view>

#include "cuda_prelude_digest.hpp"

namespace damo::cuda_backend {
namespace {

/// Without comment lines and "#pragma once", which warns outside of a header: fewer bytes to read at each compile.
void append_code(std::string& to, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end);
    const std::size_t begin = line.find_first_not_of(" \t\n");
    if (begin == std::string_view::npos) continue;
    const std::string_view code = line.substr(begin);
    if (!code.starts_with("//") && !code.starts_with("#pragma once")) to += code;
  }
}

void append_file(std::string& to, std::string_view name) {
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    if (name == file->name) append_code(to, file->text);
  }
}

std::string compose_generated(bool draws, bool gammas) {
  std::string text;
  append_file(text, "number_types.h");
  append_file(text, "core.h");
  append_file(text, "math.h");
  append_file(text, "convert.h");
  append_file(text, "float8.h");
  for (const PreludeFile* file = prelude_files; file->name; ++file) {
    const std::string_view name = file->name;
    if (name != "number_types.h" && name != "core.h" && name != "math.h" && name != "convert.h" && name != "float8.h" && (draws || name != "random.h") && (gammas || name != "gamma.h") && !name.starts_with("cuda_")) append_code(text, file->text);
  }
  return text;
}

}  // namespace

const std::string& generated_prelude(std::string_view source) {
  static const std::string texts[] = {compose_generated(false, false), compose_generated(false, true), compose_generated(true, false), compose_generated(true, true)};
  const auto names = [&](auto... words) { return (... || (source.find(words) != std::string_view::npos)); };
  return texts[(names("random_", "philox", "exact_") ? 2 : 0) + (names("digamma", "trigamma", "polygamma") ? 1 : 0)];
}

const std::string& cuda_c_prelude() {
  static const std::string text = [] {
    std::string code;
    append_file(code, "cuda_types.h");
    append_file(code, "cuda_c.h");
    append_file(code, "cuda_strided.h");
    append_file(code, "cuda_constants.h");
    return code;
  }();
  return text;
}

const char* prelude_digest() { return DAMO_CUDA_PRELUDE_DIGEST; }

}  // namespace damo::cuda_backend
