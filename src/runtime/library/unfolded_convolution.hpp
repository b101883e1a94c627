// Convolutions as products of matrices of a library. What the windows of a picture read is laid out as the columns of a matrix, one row a channel and place in
// the window (R of them), one column a place of the result (P of a picture): "unfolded", elsewhere im2col (Chellapilla, Puri and Simard 2006).
//
//   forward          y[n] (outputs, P) = w (outputs, R) unfolded[n] (R, P), a batch of products that share w
//   input gradient   the same with w transposed gives what each place hands back, (R, P); an element of x adds up, in order of the window, what it was read for
//   weight gradient  w (outputs, R) = y (outputs, batch P) by the transpose of unfolded (R, batch P): one product over the places of all pictures
//
// It moves the matrix, of as many elements as the result times R / outputs, to memory and back, and has the arithmetic of the library's best kernels: quicker than
// others for middling windows of few channels, which a device measures (cudnn_engine.cpp). Where a window reaches beyond a picture its elements are 0 and are multiplied: a weight that is
// inf or NaN makes NaN there, as it does with cuDNN. No atomics. See tests/conv/unfolded_convolution_test.cpp.
#pragma once
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

/// float32 or float64, one group, and a matrix of at most 2^26 elements.
bool fits_unfolded(const Convolution& convolution);

/// What unfolded_convolution's has, without compiling it; 0 where there is none.
std::size_t unfolded_workspace_bytes(Backend& backend, const Convolution& convolution);

/// Of one that fits_unfolded. Null where the device has no library for the product. Compiles, or takes from the kernel cache, at once.
std::shared_ptr<PreparedConvolution> unfolded_convolution(Backend& backend, const Convolution& convolution);

}  // namespace damo
