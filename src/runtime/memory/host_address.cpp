#include "runtime/memory/host_address.hpp"

#include <string>

#include <damo/error.hpp>

namespace damo {

void require_host_address(const void* address, std::size_t bytes, const char* what) {
  if (address != nullptr || bytes == 0) [[likely]]
    return;
  throw TypeError(std::string(what) + ": the host address is null, and " + std::to_string(bytes) +
                      (bytes == 1 ? " byte is" : " bytes are") + " wanted",
                  "give memory of the host that has them");
}

}  // namespace damo
