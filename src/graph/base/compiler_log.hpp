// The errors that a compiler's log tells of: Clang's "user.cu:3:7: error: ..." and NVRTC's "user.cu(3): error: ...", each
// with the line of the source that the compiler shows behind it. See tests/graph/base/compiler_log_test.cpp.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace damo {

struct LogError {
  std::string file;
  int line = 0, column = 0;  ///< from 1 on; column 0: not told
  std::string message;       ///< behind "error: "
  std::string shown;         ///< the source's line as the compiler shows it; empty if it does not
  std::string text;          ///< all that the log says of it: up to the next error
};

/// In their order; errors without a place in a file are none of them.
std::vector<LogError> errors_in(std::string_view log);

}  // namespace damo
