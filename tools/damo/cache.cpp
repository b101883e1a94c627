// damo cache list, damo cache clear
#include <cstdio>
#include <ctime>
#include <iostream>

#include <nlohmann/json.hpp>

#include <damo/cache.hpp>

#include "commands.hpp"

namespace damo::tool {
namespace {

std::string time_text(std::chrono::system_clock::time_point when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm local{};
  localtime_r(&seconds, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
  return text;
}

}  // namespace

constexpr const char* kNoCache = "there is no cache: no home directory, or DAMO_CACHE_LIMIT=0\n";

int list_cache(bool json) {
  const std::string directory = cache_directory();
  if (directory.empty() && !json) {
    std::cout << kNoCache;
    return 0;
  }
  const std::vector<CacheEntry> entries = cache_entries();
  std::size_t bytes = 0;
  nlohmann::json rows = nlohmann::json::array();
  for (const CacheEntry& entry : entries) {
    bytes += entry.bytes;
    rows.push_back({{"name", entry.name}, {"bytes", entry.bytes}, {"last_used", time_text(entry.last_used)}});
    if (!json) std::cout << entry.name << "  " << time_text(entry.last_used) << "  " << size_text(entry.bytes) << "\n";
  }
  if (json)
    std::cout << nlohmann::json{{"directory", directory}, {"bytes", bytes}, {"entries", rows}}.dump(2, ' ', false, kReplaced) << "\n";
  else
    std::cout << directory << ": " << entries.size() << " kernels, " << size_text(bytes) << "\n";
  return 0;
}

int clear_cache_files() {
  if (cache_directory().empty()) {
    std::cout << kNoCache;
    return 0;
  }
  const std::size_t count = cache_entries().size();
  clear_cache();
  std::cout << cache_directory() << ": " << count << " kernels deleted\n";
  return 0;
}

}  // namespace damo::tool
