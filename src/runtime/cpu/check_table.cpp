#include "runtime/cpu/check_table.hpp"

#include <algorithm>
#include <charconv>

namespace damo::cpu_backend {
namespace {

/// Up to the separator, which is taken too.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view part = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

std::optional<CheckTable> check_table_of(std::string_view text, std::string_view kernel) {
  while (!text.empty()) {
    std::string_view line = take(text, '\n');
    if (take(line, '\t') != kernel) continue;
    CheckTable table;
    std::string_view parameters = take(line, '\t');
    while (!parameters.empty()) table.parameters.emplace_back(take(parameters, ','));
    while (!line.empty()) {
      std::string_view entry = take(line, ',');
      const std::string_view name = take(entry, ':'), offset = take(entry, ':');
      table.shared.push_back({std::string(name), number(offset), number(entry)});
    }
    return table;
  }
  return std::nullopt;
}

}  // namespace damo::cpu_backend
