// A copy between arrays of one device that lie in any way, by a generated kernel: at the speed of memory, in the order
// of the device's default stream, and without a trip through the host. See tests/runtime/array/copy_kernel_test.cpp.
#pragma once
#include <damo/array.hpp>

#include "runtime/kernel/spec.hpp"

namespace damo {

/// The kernel of such copies, of items of so many bytes (1, 2, 4 or 8): bits are moved, so one serves all dtypes of a size.
KernelSpec copy_spec(std::size_t bytes);

/// to and from have one device, shape and item size and share no memory; no axis of `to` is broadcast. The first copy
/// of a layout (not of a shape) compiles, unless the cache has it. A layout that the device met lately costs a launch.
void copy_by_kernel(const Array& to, const Array& from);

}  // namespace damo
