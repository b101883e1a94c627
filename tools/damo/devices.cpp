// damo devices
#include <cstdio>
#include <iostream>

#include <nlohmann/json.hpp>

#include <damo/device.hpp>
#include <damo/log.hpp>

#include "commands.hpp"

namespace damo::tool {

std::string size_text(std::size_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

int list_devices(bool json) {
  set_log_level(LogLevel::kError);  // that there is no GPU shows in the list
  nlohmann::json rows = nlohmann::json::array();
  for (Device device : devices()) {
    const DeviceProperties properties = device.properties();
    rows.push_back({{"name", device.name()},
                    {"description", properties.description},
                    {"architecture", properties.architecture},
                    {"memory_bytes", properties.memory_bytes},
                    {"free_memory_bytes", properties.free_memory_bytes},
                    {"multiprocessors", properties.multiprocessors},
                    {"default", device == Device()}});
    if (json) continue;
    std::printf("%-8s %s, %s, %d %s, %s of %s free%s\n", device.name().c_str(), properties.description.c_str(),
                properties.architecture.c_str(), properties.multiprocessors,
                device.is_host() ? "threads" : "multiprocessors", size_text(properties.free_memory_bytes).c_str(),
                size_text(properties.memory_bytes).c_str(), device == Device() ? "  (default)" : "");
  }
  if (json) std::cout << rows.dump(2) << "\n";
  if (rows.empty()) std::fprintf(stderr, "no device: run `damo doctor`\n");
  return rows.empty() ? 1 : 0;
}

}  // namespace damo::tool
