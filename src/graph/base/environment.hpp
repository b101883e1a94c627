// What Damo reads from the environment: one table and one reader. docs/user_guide.md has the same table. A process that
// runs with more rights than who started it (setuid, file capabilities) reads nothing: whoever sets a variable there
// would choose the code that it runs. See tests/graph/base/environment_test.cpp.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace damo {

struct EnvironmentVariable {
  const char* name;
  const char* values;    ///< what it takes, for people
  const char* standard;  ///< what holds where it is not set
  const char* meaning;
  bool (*takes)(std::string_view value);  ///< whether it is one of values, as far as its text tells
};

std::span<const EnvironmentVariable> environment_variables();

/// The value; empty if it is not set. Of Damo's variables only those of the table: another is an InternalError.
std::string environment(const char* name);

/// Whether the variable is 1. Unset, empty or 0: no. Throws OptionError for anything else: a switch that was meant to be
/// on and is not would go unnoticed.
bool is_switched_on(const char* variable);

/// What is set and means nothing: "DAMO_DISABEL is no variable of Damo's; DAMO_DISABLE is", "DAMO_LOG is 'verbose'; it
/// takes debug, info, warning, error, off".
std::vector<std::string> environment_problems();

/// Logs them in one line, once in a process: with the first line that is logged, or when the first device is opened.
void report_environment();

/// The word most like the one that was written; empty if none is.
std::string_view nearest(std::string_view written, std::span<const std::string_view> words);

}  // namespace damo
