#include "graph/base/environment.hpp"

#include <cstdlib>
#include <string>
#include <string_view>

#include <damo/error.hpp>

namespace damo {

bool is_switched_on(const char* variable) {
  const char* const text = std::getenv(variable);
  const std::string_view value = text ? text : "";
  if (value.empty() || value == "0") return false;
  if (value == "1") return true;
  throw OptionError(std::string(variable) + " is '" + std::string(value) + "', which is neither 0 nor 1",
                    std::string(variable) + "=1 switches it on");
}

}  // namespace damo
