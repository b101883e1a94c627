#include <damo/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace damo {

std::string to_string(SourceLine line) {
  return line ? std::string(line.file) + ":" + std::to_string(line.line) : std::string();
}

Error::Error(ErrorParts parts) : parts_(std::move(parts)) { compose(); }

Error::Error(std::string message, std::string remedy) {
  parts_.message = std::move(message);
  parts_.remedy = std::move(remedy);
  compose();
}

void Error::add_where(const std::string& where) {
  if (!parts_.where.empty()) return;
  parts_.where = where;
  compose();
}

void Error::add_operands(std::vector<std::string> operands) {
  if (!parts_.operands.empty()) return;
  parts_.operands = std::move(operands);
  compose();
}

void Error::compose() {
  text_ = parts_.message;
  if (!parts_.operands.empty()) {
    text_ += "\n  ";
    for (std::size_t i = 0; i < parts_.operands.size(); ++i) text_ += (i > 0 ? ", " : "") + parts_.operands[i];
  }
  if (!parts_.where.empty()) text_ += "\n  " + parts_.where;
  if (!parts_.remedy.empty()) text_ += "\n  " + parts_.remedy;
}

namespace {

/// The number that "#line 12 ..." gives to the line after it, 0 for any other line.
int line_directive(std::string_view line) {
  constexpr std::string_view kWord = "#line ";
  return line.starts_with(kWord) ? std::atoi(std::string(line.substr(kWord.size())).c_str()) : 0;
}

/// Numbered as in the compiler's messages.
std::string numbered(const std::string& source) {
  std::string text;
  int number = 0;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    const std::string digits = std::to_string(++number);
    text += std::string(digits.size() < 4 ? 4 - digits.size() : 0, ' ') + digits + " | " + source.substr(at, end - at) + "\n";
    if (const int next = line_directive(std::string_view(source).substr(at, end - at))) number = next - 1;
    at = end + 1;
  }
  return text;
}

std::string with_log(const std::string& message, const std::string& log, const std::string& source) {
  return message + "\n" + log + (log.empty() || log.back() == '\n' ? "" : "\n") + numbered(source);
}

}  // namespace

CompileError::CompileError(std::string message, std::string log, std::string source)
    : Error(with_log(message, log, source)), log_(std::move(log)), source_(std::move(source)) {}

}  // namespace damo
