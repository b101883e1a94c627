#include "runtime/kernel/own_types.hpp"

#include <cctype>

namespace damo {
namespace {

constexpr std::string_view kNames[] = {"int64_t", "uint64_t", "intptr_t", "uintptr_t", "intmax_t", "uintmax_t"};

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// The statement around a position: from behind the last ; { } or # line to the next ;.
std::string_view statement_around(std::string_view source, std::size_t at) {
  const std::size_t before = source.find_last_of(";{}\n", at);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  return source.substr(begin, source.find(';', at) - begin);
}

bool defines(std::string_view statement, std::string_view name) {
  if (statement.find("long") == std::string_view::npos || statement.find("long long") != std::string_view::npos) return false;
  const std::size_t word = statement.find_first_not_of(" \t");
  if (statement.substr(word).starts_with("using")) return statement.find('=') != std::string_view::npos;
  std::string_view tail = statement;
  while (!tail.empty() && std::isspace(static_cast<unsigned char>(tail.back()))) tail.remove_suffix(1);
  return statement.substr(word).starts_with("typedef") && tail.ends_with(name);
}

bool defined_in(std::string_view source, std::string_view name) {
  for (std::size_t at = 0; (at = source.find(name, at)) != std::string_view::npos; at += name.size()) {
    const std::size_t end = at + name.size();
    const bool whole = (at == 0 || !in_name(source[at - 1])) && (end == source.size() || !in_name(source[end]));
    if (whole && defines(statement_around(source, at), name)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> own_types(std::string_view source) {
  std::vector<std::string> names;
  for (const std::string_view name : kNames) {
    if (defined_in(source, name)) names.emplace_back(name);
  }
  return names;
}

}  // namespace damo
