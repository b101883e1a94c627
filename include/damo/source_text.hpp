// SourceText: CUDA C as a program writes it, and where in the program it stands. A string literal, a std::string or a
// std::string_view converts to it.
#pragma once
#include <string>
#include <string_view>

#include <damo/error.hpp>

namespace damo {

/// Text of a kernel and the line of the user's file on which it begins.
struct SourceText {
  SourceText() = default;
  SourceText(const char* text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(text), where{file, line} {}
  SourceText(std::string text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(std::move(text)), where{file, line} {}
  SourceText(std::string_view text, const char* file = __builtin_FILE(), int line = __builtin_LINE())
      : text(text), where{file, line} {}

  std::string text;
  SourceLine where;
};

}  // namespace damo
