// What makes the compiler's messages name the line of the user's file.
#pragma once
#include <string>

#include <damo/source_text.hpp>

namespace damo {

/// #line for the text that follows; empty where the line is not known. A text that begins with a line break begins one
/// line later.
inline std::string line_directive(const SourceText& text) {
  if (!text.where) return {};
  std::string file;
  for (const char* c = text.where.file; *c; ++c) {
    if (*c == '\\' || *c == '"') file += '\\';
    file += *c;
  }
  return "#line " + std::to_string(text.where.line) + " \"" + file + "\"\n";
}

}  // namespace damo
