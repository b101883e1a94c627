// Host memory that a copy is given by its address: null is told before a copy faults on it.
#pragma once
#include <cstddef>

namespace damo {

/// Throws TypeError for null and some bytes. what: "copy_to_host".
void require_host_address(const void* address, std::size_t bytes, const char* what);

}  // namespace damo
