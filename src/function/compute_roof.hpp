// The compute roof of a device: how many instructions a second its kernels can do where memory does not hold them up, in the unit of the rows'
// costs (ElementwiseRow::cost), as roofline plots count. Measured once a device by a kernel of multiplications and additions on values in
// registers: a multiplication and the addition behind it count as two, though processors do them as one. See tests/function/report_test.cpp.
#pragma once
#include <damo/device.hpp>

namespace damo {

/// Instructions a second, in float32; 0 of a device that computes nothing. The first call compiles a kernel and takes milliseconds.
double compute_roof(Device device);

}  // namespace damo
