#include <damo/log.hpp>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace damo {
namespace {

/// None for a word that names no level.
std::optional<LogLevel> level_named(std::string_view word) {
  if (word == "debug") return LogLevel::kDebug;
  if (word == "info" || word.empty()) return LogLevel::kInfo;
  if (word == "warning") return LogLevel::kWarning;
  if (word == "error") return LogLevel::kError;
  if (word == "off") return LogLevel::kOff;
  return std::nullopt;
}

/// A wrong word is told on standard error, once: whoever logs cannot be thrown at.
LogLevel level_from_environment() {
  const char* const text = std::getenv("DAMO_LOG");
  const std::optional<LogLevel> level = level_named(text ? text : "");
  if (!level) std::fprintf(stderr, "damo: DAMO_LOG is '%s'; it takes debug, info, warning, error, off\n", text);
  return level.value_or(LogLevel::kInfo);
}

/// One of the four pieces of process-wide state.
struct Logger {
  std::atomic<LogLevel> level = level_from_environment();
  std::mutex mutex;
  LogSink sink;
  std::shared_ptr<spdlog::logger> console;
};

Logger& logger() {
  static Logger* const logger = new Logger;  // outlives static objects that log when they are destroyed
  return *logger;
}

void to_console(Logger& logger, LogLevel level, std::string_view line) {
  if (!logger.console) {
    logger.console = std::make_shared<spdlog::logger>("damo", std::make_shared<spdlog::sinks::stderr_color_sink_st>());
    logger.console->set_pattern("damo: %^%v%$");
    logger.console->set_level(spdlog::level::trace);
  }
  const auto spd_level = level == LogLevel::kDebug     ? spdlog::level::debug
                         : level == LogLevel::kInfo    ? spdlog::level::info
                         : level == LogLevel::kWarning ? spdlog::level::warn
                                                       : spdlog::level::err;
  logger.console->log(spd_level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace

void set_log_level(LogLevel level) { logger().level = level; }

LogLevel log_level() { return logger().level; }

void set_log_sink(LogSink sink) {
  const std::lock_guard lock(logger().mutex);
  logger().sink = std::move(sink);
}

void log(LogLevel level, std::string_view line) {
  Logger& the = logger();
  if (level < the.level.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(the.mutex);
  if (the.sink) the.sink(level, line);
  else to_console(the, level, line);
}

}  // namespace damo
