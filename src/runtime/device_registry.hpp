// The devices of this process, each made at its first use and kept until the process ends: arrays in static storage
// may outlive everything else, so none is ever destroyed. The one place that knows which back ends were built.
// Thread-safe. See tests/runtime/device_registry_test.cpp.
#pragma once
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace damo {

/// DAMO_DEVICE if it is set, else the first GPU, else the CPU with one log line that says why. Chosen once.
Backend& default_backend();

/// "cpu", "cuda" (the first GPU), "cuda:1", "null". Throws DeviceError.
Backend& backend_named(std::string_view name);

/// GPUs first, then the CPU; never "null". Leaves out what does not start.
std::vector<Backend*> usable_backends();

}  // namespace damo
