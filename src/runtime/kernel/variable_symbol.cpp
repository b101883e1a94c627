#include "runtime/kernel/variable_symbol.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>

namespace damo {

namespace {

/// Cuts out what stands for an unnamed namespace: Clang's "(anonymous namespace)::", NVRTC's "_INTERNAL_...::_GLOBAL__N_...::".
std::string without_unnamed_spaces(std::string name) {
  for (const std::string_view mark : {"(anonymous namespace)", "_INTERNAL_", "_GLOBAL__N_"}) {
    for (std::size_t at = 0; (at = name.find(mark, at)) != std::string::npos;) {
      const std::size_t end = name.find("::", at);
      const bool begins = at == 0 || name.compare(at - 2, 2, "::") == 0;
      if (end == std::string::npos || !begins) break;
      name.erase(at, end + 2 - at);
    }
  }
  return name;
}

std::string without_blanks(std::string_view name) {
  std::string text;
  std::copy_if(name.begin(), name.end(), std::back_inserter(text), [](char c) { return !std::isspace(static_cast<unsigned char>(c)); });
  return text;
}

}  // namespace

std::string variable_name(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? without_unnamed_spaces(text.get()) : symbol;
}

std::string find_variable(const std::vector<std::string>& symbols, std::string_view name) {
  const std::string wanted = without_blanks(name), ending = "::" + wanted;
  std::string found;
  for (const std::string& symbol : symbols) {
    const std::string known = without_blanks(variable_name(symbol));
    if (known == wanted) return symbol;
    if (!known.ends_with(ending)) continue;
    if (!found.empty()) return {};
    found = symbol;
  }
  return found;
}

std::string variable_symbol(const std::string& name) {
  if (name.find("::") == std::string::npos) return name;
  std::string symbol = "_ZN";
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find("::", begin), name.size());
    symbol += std::to_string(end - begin) + name.substr(begin, end - begin);
    begin = end + 2;
  }
  return symbol + "E";
}

}  // namespace damo
