// Every exception that Damo throws. what() has up to five lines: what was wrong, the operands, where in the user's file
// it was built, what the kernel's source says, how to mend it.
//
//   UserError: TypeError ShapeError IndexError GraphError OptionError      the caller's input
//   CompileError                                                 a kernel that does not compile; carries the log
//   DeviceError: OutOfMemoryError                                the device or its driver
//   InternalError                                                a fault of Damo itself
// See tests/errors/.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

/// A line of the user's program. file is a string literal (from the compiler); null if unknown.
struct SourceLine {
  const char* file = nullptr;
  int line = 0;
  std::uint32_t function = 0;  ///< of a node: which of Damo's functions was called there, if that is made of several ops; 0: none

  explicit operator bool() const { return file != nullptr; }
};
/// "model.cpp:12"; empty if unknown.
std::string to_string(SourceLine line);

/// What an Error is made of; empty parts are left out of its text.
struct ErrorParts {
  std::string message;                 ///< "add: cannot broadcast (3, 4) with (5,): last axis 4 against 5"
  std::vector<std::string> operands;   ///< "x float32 (3, 4)"
  std::string where;                   ///< "built at model.cpp:12"
  std::string remedy;                  ///< "reshape b to (4,)"
};

class Error : public std::exception {
 public:
  explicit Error(ErrorParts parts);
  explicit Error(std::string message, std::string remedy = {});

  const char* what() const noexcept override { return text_.c_str(); }
  const ErrorParts& parts() const { return parts_; }
  /// Adds where it happened, unless an inner frame has said so already.
  void add_where(const std::string& where);
  /// Adds the call in which it came up, beside the line of what is to blame: "built at model.cpp:12, in function built at model.cpp:40".
  void add_call(const std::string& where);
  void add_operands(std::vector<std::string> operands);

 private:
  void compose();
  ErrorParts parts_;
  std::string text_;
};

struct UserError : Error { using Error::Error; };
struct TypeError : UserError { using UserError::UserError; };
struct ShapeError : UserError { using UserError::UserError; };
/// A position in data that is beyond its axis. On a GPU it may come late: from the next call, or from whoever waits for the device.
struct IndexError : UserError { using UserError::UserError; };
struct GraphError : UserError { using UserError::UserError; };
struct OptionError : UserError { using UserError::UserError; };

/// A kernel that does not compile. what() ends with the log's first errors and the source's lines around them; log(), source(): all.
class CompileError : public Error {
 public:
  CompileError(std::string message, std::string log, std::string source);
  const std::string& log() const { return log_; }
  const std::string& source() const { return source_; }

 private:
  std::string log_, source_;
};

struct DeviceError : Error { using Error::Error; };
struct OutOfMemoryError : DeviceError { using DeviceError::DeviceError; };
struct InternalError : Error { using Error::Error; };

}  // namespace damo
