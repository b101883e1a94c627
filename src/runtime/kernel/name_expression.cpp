#include "runtime/kernel/name_expression.hpp"

#include <cctype>

namespace damo {
namespace {

constexpr std::string_view kBlanks = " \t\n\v\f\r";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Where the bracket opens that the text's last character closes; npos if none does.
std::size_t opening(std::string_view text) {
  const char close = text.back(), open = close == ')' ? '(' : '<';
  int depth = 0, others = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    const char c = text[at];
    if (open == '<') others += c == ')' ? 1 : c == '(' ? -1 : 0;  // "scale<(3 > 2)>"
    if (others == 0 && c == close) ++depth;
    if (others == 0 && c == open && --depth == 0) return at;
  }
  return std::string_view::npos;
}

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; }

}  // namespace

bool has_cast(std::string_view expression) {
  const std::string_view text = trimmed(expression);
  return text.size() != name_in(text).size();
}

std::string_view name_in(std::string_view expression) {
  std::string_view text = trimmed(expression);
  while (!text.empty() && text.back() == ')') {  // of a cast's operand
    const std::size_t open = opening(text);
    if (open == std::string_view::npos) return {};
    text = trimmed(text.substr(open + 1, text.size() - open - 2));
  }
  std::size_t begin = text.size();
  if (!text.empty() && text.back() == '>') begin = opening(text);
  if (begin == std::string_view::npos) return {};
  while (begin > 0 && std::isspace(static_cast<unsigned char>(text[begin - 1]))) --begin;  // "scale <float>"
  while (begin > 0 && in_name(text[begin - 1])) --begin;
  return text.substr(begin);
}

std::string with_cast(std::string_view name, std::string_view parameters) {
  std::string text = "(void (*)(" + std::string(parameters) + "))" + std::string(name);
  constexpr std::string_view kUnnamed = "(anonymous namespace)::";
  for (std::size_t at = 0; (at = text.find(kUnnamed, at)) != std::string::npos;) text.erase(at, kUnnamed.size());
  return text;
}

}  // namespace damo
