// Convolutions by plain kernels of Damo's own, from one text for all back ends, an element of the result a thread or, of a weight's gradient, a block:
// for machines without a library, and where groups are too small for anything else (depthwise). Any sizes, floating dtypes. Each element is added up in one
// order, without atomics.
#pragma once
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

/// Compiles, or takes from the kernel cache, at once.
std::shared_ptr<PreparedConvolution> direct_convolution(Backend& backend, const Convolution& convolution);

}  // namespace damo
