#include "runtime/cpu/host_cache.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace damo::cpu_backend {
namespace {

/// As the kernel describes it: sysconf() says ten times too much on some processors. A common size where nothing is
/// described.
std::size_t read_last_level_cache() {
  std::size_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::size_t kibibytes = 0;
    if (file >> kibibytes) largest = std::max(largest, kibibytes << 10);
  }
  return largest > 0 ? largest : std::size_t{32} << 20;
}

}  // namespace

std::size_t last_level_cache() {
  static const std::size_t bytes = read_last_level_cache();
  return bytes;
}

}  // namespace damo::cpu_backend
