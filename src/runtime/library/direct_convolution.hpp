// Convolutions by plain kernels of Damo's own, from one text for all back ends, an element of the result a thread or, of a weight's gradient, a block:
// for GPUs without a library, and for pictures too large for others. Any sizes, floating dtypes. Each element is added up in one
// order, without atomics.
#pragma once
#include <memory>
#include <string>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

/// CUDA C of the kernel "convolve", for a host's processor or a GPU.
std::string direct_text(ConvolutionRole role, DType dtype, bool is_host);

/// Compiles, or takes from the kernel cache, at once.
std::shared_ptr<PreparedConvolution> direct_convolution(Backend& backend, const Convolution& convolution);

}  // namespace damo
