#include "runtime/kernel/half_code.hpp"

#include <regex>
#include <vector>

namespace damo {
namespace {

/// What " * " stands between outside of all brackets; all of the code where these do not match.
std::vector<std::string> factors(const std::string& code) {
  std::vector<std::string> parts{""};
  int depth = 0;
  for (std::size_t at = 0; at < code.size(); ++at) {
    depth += code[at] == '(' ? 1 : code[at] == ')' ? -1
                                                   : 0;
    if (depth < 0) return {code};
    if (depth == 0 && code.compare(at, 3, " * ") == 0) {
      parts.emplace_back();
      at += 2;
    } else {
      parts.back() += code[at];
    }
  }
  return parts;
}

/// Whether the bracket that `text` opens at `at` is closed by its last character.
bool closes_last(const std::string& text, std::size_t at) {
  int depth = 0;
  for (; at < text.size(); ++at) {
    depth += text[at] == '(' ? 1 : text[at] == ')' ? -1
                                                   : 0;
    if (depth == 0) return at + 1 == text.size();
  }
  return false;
}

}  // namespace

std::string half_code(const Step& step) {
  static const std::regex function(R"((exp|sigmoid|softplus|log|log1p|erf|erfc)\(.*)"), plain(R"(x[0-9]+|T\(-?[0-9.]+(e-?[0-9]+)?\))");
  if (step.join || !is_half(step.result) || !(step.compute == float32 || is_half(step.compute))) return step.code;
  std::string code;
  for (const std::string& factor : factors(step.code)) {
    const bool is_function = std::regex_match(factor, function) && closes_last(factor, factor.find('('));
    if (!is_function && !std::regex_match(factor, plain)) return step.code;
    code += (code.empty() ? "" : " * ") + std::string(is_function ? "to_half::" : "") + factor;
  }
  return code;
}

}  // namespace damo
