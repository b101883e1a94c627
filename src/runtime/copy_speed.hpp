// What a device's own copy reaches, in bytes read and written a second, to which profiles, reports and comparisons hold kernels: measured once a process and device,
// by Device::measure_copy, which takes milliseconds and 512 MiB. See tests/runtime/device_test.cpp.
#pragma once
#include <damo/device.hpp>

#include "runtime/backend.hpp"

namespace damo {

/// Throws what measure_copy throws where nobody has measured yet.
inline double copy_speed(const Device& device) {
  const double known = device.backend().copy_bytes_per_second;
  return known > 0 ? known : device.measure_copy();
}

}  // namespace damo
