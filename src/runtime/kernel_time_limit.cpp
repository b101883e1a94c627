#include "runtime/kernel_time_limit.hpp"

#include <cmath>
#include <cstdlib>
#include <string>

#include <damo/error.hpp>
#include <damo/log.hpp>

#include "graph/base/environment.hpp"
#include "runtime/backend.hpp"

namespace damo {

double kernel_time_limit_of_environment() {
  const std::string text = environment("DAMO_KERNEL_TIME_LIMIT");
  if (text.empty()) return 0;
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !std::isfinite(seconds) || seconds < 0) {
    throw OptionError("DAMO_KERNEL_TIME_LIMIT is '" + text + "', which is no number of seconds", "give a number such as 2.5; 0: no limit");
  }
  return seconds;
}

void tell_kernel_time_limit(const Backend& backend, double seconds) {
  if (seconds > 0 && backend.kind() == DeviceKind::kCuda) {
    log(LogLevel::kInfo, backend.name() + ": a kernel on a GPU can't be stopped: the time limit holds on the CPU only");
  }
}

}  // namespace damo
