#include "graph/base/compiler_log.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace damo {
namespace {

/// The number at the beginning of text, which is cut off; 0 if there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

/// Of "fatal error: what", "catastrophic error: what", "error #20: what" what the message is.
std::optional<std::string_view> message_in(std::string_view text) {
  constexpr std::string_view kWord = "error";
  const std::size_t word = text.find(kWord);
  if (word > std::string_view("catastrophic ").size()) return std::nullopt;
  const std::size_t colon = text.find(": ", word);
  if (colon == std::string_view::npos || (colon != word + kWord.size() && text[word + kWord.size()] != ' ')) return std::nullopt;
  return text.substr(colon + 2);
}

std::optional<LogError> error_of(std::string_view line) {
  for (std::size_t at = line.find_first_of(":("); at != std::string_view::npos; at = line.find_first_of(":(", at + 1)) {
    if (at + 1 >= line.size() || !std::isdigit(static_cast<unsigned char>(line[at + 1]))) continue;
    std::string_view rest = line.substr(at + 1);
    LogError error;
    error.line = take_number(rest);
    if (line[at] == ':' && rest.starts_with(":")) {
      rest.remove_prefix(1);
      error.column = take_number(rest);
    }
    const std::string_view separator = line[at] == '(' ? "): " : ": ";
    if (!rest.starts_with(separator)) continue;
    const auto message = message_in(rest.substr(separator.size()));
    if (!message) return std::nullopt;
    error.file = line.substr(0, at);
    error.message = *message;
    return error;
  }
  return std::nullopt;
}

/// Without the number that Clang puts before it: "    3 | text".
std::string shown_in(std::string_view line) {
  const std::size_t bar = line.find(" | ");
  const bool is_numbered = bar != std::string_view::npos && line.substr(0, bar).find_first_not_of(" 0123456789") == std::string_view::npos;
  return std::string(is_numbered ? line.substr(bar + 3) : line);
}

}  // namespace

std::vector<LogError> errors_in(std::string_view log) {
  std::vector<LogError> errors;
  bool is_next_shown = false;
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t end = std::min(log.find('\n', at), log.size());
    const std::string_view line = log.substr(at, end - at);
    at = end + 1;
    if (std::optional<LogError> error = error_of(line)) {
      errors.push_back(std::move(*error));
      is_next_shown = true;
    } else if (errors.empty()) {
      continue;
    } else if (is_next_shown) {
      if (line.find(": note: ") == std::string_view::npos) errors.back().shown = shown_in(line);
      is_next_shown = false;
    }
    errors.back().text.append(line).append("\n");
  }
  return errors;
}

}  // namespace damo
