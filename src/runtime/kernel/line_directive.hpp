// What makes the compiler's messages name the line of the user's file.
#pragma once
#include <string>
#include <string_view>

#include <damo/source_text.hpp>

namespace damo {

/// #line for the text that follows. A text that begins with a line break begins one line later.
inline std::string line_directive(std::string_view file, int line) {
  std::string escaped;
  for (const char c : file) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return "#line " + std::to_string(line) + " \"" + escaped + "\"\n";
}

/// Empty where the line is not known.
inline std::string line_directive(const SourceText& text) {
  return text.where ? line_directive(text.where.file, text.where.line) : std::string();
}

}  // namespace damo
