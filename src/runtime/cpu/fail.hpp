// The one place where the CPU back end raises an error.
#pragma once
#include <stdexcept>
#include <string>

namespace damo::cpu_backend {

[[noreturn]] inline void fail(const std::string& message) { throw std::runtime_error(message); }

}  // namespace damo::cpu_backend
