#include <damo/log.hpp>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "graph/base/environment.hpp"

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

/// A wrong word is told by report_environment(): whoever logs cannot be thrown at.
LogLevel level_from_environment() { return level_named(environment("DAMO_LOG")).value_or(LogLevel::kInfo); }

/// One of the four pieces of process-wide state.
struct Logger {
  std::atomic<LogLevel> level = level_from_environment();
  std::recursive_mutex mutex;  // a sink may log, and may set another
  std::shared_ptr<const LogSink> sink;
  bool is_in_sink = false;
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
  auto next = sink ? std::make_shared<const LogSink>(std::move(sink)) : nullptr;
  const std::lock_guard lock(logger().mutex);
  logger().sink.swap(next);
}

void log(LogLevel level, std::string_view line) {
  Logger& the = logger();
  if (level < the.level.load(std::memory_order_relaxed)) return;
  report_environment();
  const std::lock_guard lock(the.mutex);
  const std::shared_ptr<const LogSink> sink = the.sink;  // which it may replace while it runs
  if (!sink || the.is_in_sink) return to_console(the, level, line);
  struct InSink {
    bool& flag;
    explicit InSink(bool& flag) : flag(flag) { flag = true; }
    ~InSink() { flag = false; }
  } const mark(the.is_in_sink);
  (*sink)(level, line);
}

}  // namespace damo
