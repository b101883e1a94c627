#include "runtime/cuda/symbol_name.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace damo::cuda_backend {
namespace {

/// Empty if the symbol is no mangled name.
std::string demangled(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  return status == 0 && text ? text.get() : std::string();
}

/// Where the bracket opens that the one at close closes; npos if none does.
std::size_t opening(const std::string& text, std::size_t close) {
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (text[at] == ')') ++depth;
    if (text[at] == '(' && --depth == 0) return at;
  }
  return std::string::npos;
}

/// A template's name is demangled with its result before it: "void scale<float>".
std::string without_result(const std::string& text) {
  int depth = 0;
  for (std::size_t at = text.size(); at-- > 0;) {
    if (text[at] == '>' || text[at] == ')') ++depth;
    if (text[at] == '<' || text[at] == '(') --depth;
    if (depth == 0 && text[at] == ' ') return text.substr(at + 1);
  }
  return text;
}

}  // namespace

SymbolName read_symbol(const std::string& symbol) {
  const std::string text = demangled(symbol);
  if (text.empty()) return {symbol, std::nullopt};
  if (text.back() != ')') return {text, std::nullopt};
  const std::size_t open = opening(text, text.size() - 1);
  if (open == std::string::npos || open == 0) return {text, std::nullopt};
  return {without_result(text.substr(0, open)), text.substr(open + 1, text.size() - open - 2)};
}

std::optional<std::string> read_signature(const std::string& symbol) {
  const std::string text = demangled(symbol);
  const std::size_t begin = text.find('<'), end = text.rfind('>');
  if (begin == std::string::npos || end == std::string::npos || end <= begin) return std::nullopt;
  std::string type = text.substr(begin + 1, end - begin - 1);
  while (!type.empty() && type.back() == ' ') type.pop_back();
  if (type.empty() || type.back() != ')') return std::nullopt;
  const std::size_t open = opening(type, type.size() - 1);
  if (open == std::string::npos) return std::nullopt;
  return type.substr(open + 1, type.size() - open - 2);
}

}  // namespace damo::cuda_backend
