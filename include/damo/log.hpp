// What Damo says beside its results: one line when it takes a slower path, a device or a kernel that was not asked for.
// Lines go to standard error through spdlog ("DAMO_LOG=debug" shows compiles and cache hits), or to a sink of yours.
#pragma once
#include <functional>
#include <string_view>

namespace damo {

enum class LogLevel { kDebug, kInfo, kWarning, kError, kOff };

/// Lines below it are dropped. Default: kInfo, or what DAMO_LOG says (debug, info, warning, error, off).
void set_log_level(LogLevel level);
LogLevel log_level();

/// Takes every line instead of standard error; an empty function gives standard error back. Called from any thread,
/// one line at a time. What the sink itself causes to be logged goes to standard error.
using LogSink = std::function<void(LogLevel, std::string_view line)>;
void set_log_sink(LogSink sink);

void log(LogLevel level, std::string_view line);

}  // namespace damo
