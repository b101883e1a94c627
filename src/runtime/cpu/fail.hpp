// The one place where the pieces of the CPU back end raise an error.
#pragma once
#include <string>

#include <damo/error.hpp>

namespace damo::cpu_backend {

[[noreturn]] inline void fail(const std::string& message, const std::string& remedy = {}) {
  throw DeviceError(message, remedy);
}

}  // namespace damo::cpu_backend
