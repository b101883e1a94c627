// How compilers name a line: Clang "file:12", NVRTC "file(12)".
#pragma once
#include <gmock/gmock.h>

#include <string>

namespace damo::testing {

/// Matches a log that names the line of the file.
inline auto names_line(const std::string& file, int line) {
  const std::string number = std::to_string(line);
  return ::testing::AnyOf(::testing::HasSubstr(file + ":" + number), ::testing::HasSubstr(file + "(" + number + ")"));
}

}  // namespace damo::testing
