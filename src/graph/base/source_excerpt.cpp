#include "graph/base/source_excerpt.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <vector>

#include "graph/base/compiler_log.hpp"

namespace damo {
namespace {

constexpr std::size_t kContext = 3, kShownErrors = 5, kLoggedErrors = 20;

using Lines = std::vector<std::string_view>;

Lines lines_of(std::string_view text) {
  Lines lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

/// The lines' numbers in messages: "#line 12" counts anew.
std::vector<int> numbers_of(const Lines& lines) {
  constexpr std::string_view kDirective = "#line ";
  std::vector<int> numbers;
  int next = 1;
  for (const std::string_view line : lines) {
    numbers.push_back(next++);
    if (!line.starts_with(kDirective)) continue;
    if (const int told = std::atoi(std::string(line.substr(kDirective.size())).c_str())) next = told;
  }
  return numbers;
}

/// Equal but for blanks, which compilers print in their own ways.
bool same_text(std::string_view a, std::string_view b) {
  const auto visible = [](std::string_view text) {
    std::string all;
    std::copy_if(text.begin(), text.end(), std::back_inserter(all), [](char c) { return c != ' ' && c != '\t' && c != '\r'; });
    return all;
  };
  return visible(a) == visible(b);
}

/// The source's lines with errors, by their index, and the column of each one's first.
std::map<std::size_t, int> lines_with_errors(std::string_view log, const Lines& source, const std::vector<int>& numbers) {
  std::map<std::size_t, int> found;
  for (const LogError& error : errors_in(log)) {
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (numbers[i] != error.line || (!error.shown.empty() && !same_text(error.shown, source[i]))) continue;
      found.emplace(i, error.column);
      break;
    }
    if (found.size() == kShownErrors) break;
  }
  return found;
}

std::string row(int number, bool is_marked, std::string_view text) {
  const std::string digits = std::to_string(number);
  return (is_marked ? "> " : "  ") + std::string(digits.size() < 5 ? 5 - digits.size() : 0, ' ') + digits + " | " + std::string(text) + "\n";
}

std::string caret(std::string_view line, int column) {
  std::string text = "        | ";
  for (const char c : line.substr(0, std::min(line.size(), static_cast<std::size_t>(column - 1)))) text += c == '\t' ? '\t' : ' ';
  return text + "^\n";
}

}  // namespace

std::string source_excerpt(std::string_view log, std::string_view source) {
  const Lines lines = lines_of(source);
  const std::vector<int> numbers = numbers_of(lines);
  const auto errors = lines_with_errors(log, lines, numbers);
  std::string text;
  std::size_t next = 0;  // the first line that has not been shown
  for (const auto& [at, first_column] : errors) {
    const std::size_t begin = std::max(next, at - std::min(at, kContext)), end = std::min(at + kContext + 1, lines.size());
    if (next > 0 && begin > next) text += "    ...\n";
    for (std::size_t i = begin; i < end; ++i) {
      const auto error = errors.find(i);
      text += row(numbers[i], error != errors.end(), lines[i]);
      if (error != errors.end() && error->second > 0) text += caret(lines[i], error->second);
    }
    next = std::max(next, end);
  }
  return text;
}

std::string first_errors(std::string_view log) {
  const std::vector<LogError> errors = errors_in(log);
  std::size_t end = log.size();
  for (std::size_t i = errors.size(); i > kLoggedErrors; --i) end -= std::min(end, errors[i - 1].text.size());
  std::string text(log.substr(0, end));
  if (!text.empty() && text.back() != '\n') text += '\n';
  if (errors.size() > kLoggedErrors) text += "and " + std::to_string(errors.size() - kLoggedErrors) + " errors more, in CompileError::log()\n";
  return text;
}

}  // namespace damo
