#include <damo/error.hpp>

#include <utility>

#include "graph/base/source_excerpt.hpp"

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

void Error::add_call(const std::string& where) {
  parts_.where += (parts_.where.empty() ? "" : ", ") + where;
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

std::string with_log(const std::string& message, const std::string& log, const std::string& source) {
  return message + "\n" + first_errors(log) + source_excerpt(log, source);
}

}  // namespace

CompileError::CompileError(std::string message, std::string log, std::string source)
    : Error(with_log(message, log, source)), log_(std::move(log)), source_(std::move(source)) {}

}  // namespace damo
