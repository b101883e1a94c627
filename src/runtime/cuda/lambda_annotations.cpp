#include "runtime/cuda/lambda_annotations.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace damo::cuda_backend {

std::string without_lambda_annotations(std::string source) {
  const auto skip_blanks = [&](std::size_t at) {
    while (at < source.size() && std::isspace(static_cast<unsigned char>(source[at]))) ++at;
    return at;
  };
  for (std::size_t bracket = source.find(']'); bracket != std::string::npos; bracket = source.find(']', bracket + 1)) {
    if (bracket > 0 && source[bracket - 1] == ']') continue;  // an attribute: [[nodiscard]] __device__ int f();
    std::size_t at = skip_blanks(bracket + 1);
    for (bool found = true; found;) {
      found = false;
      for (const std::string_view word : {"__device__", "__host__"}) {
        if (source.compare(at, word.size(), word) != 0) continue;
        std::fill_n(source.begin() + static_cast<std::ptrdiff_t>(at), word.size(), ' ');
        at = skip_blanks(at);
        found = true;
      }
    }
  }
  return source;
}

}  // namespace damo::cuda_backend
