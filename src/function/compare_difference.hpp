// How far the values of two arrays lie apart.
#pragma once
#include <damo/compare.hpp>

namespace damo {

/// a and b: same dtype and shape, any strides, any device. The name is left empty.
OutputDifference difference_of(const Array& a, const Array& b);

}  // namespace damo
