// Convolutions on GPUs by a kernel of Damo's own, one text for the three roles: a block of threads makes 32 or 64 rows by 32 or 64 columns of the result, from parts of both operands
// in shared memory, as products of matrices do. The matrix of windows is never made: its elements are read where they lie, by positions that are worked out
// with the window as a constant.
//
//   forward          rows: filters; columns: places of all pictures; summed over channels and window
//   input gradient   rows: channels; columns: elements of all pictures; summed over filters and window
//   weight gradient  rows: filters; columns: channels and window; summed over places of all pictures, in parts that are added up in order
//
// A block multiplies zeros where a window has no element: in the input gradient a weight that is inf or NaN makes NaN of elements that have no
// product with it, as it does with cuDNN. The parts follow from sizes alone, and there are no atomics: the same bits at every call and on every GPU. See tests/conv/block_convolution_test.cpp.
#pragma once
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

/// Whether blocks would not be mostly empty, and elements can be counted by ints.
bool fits_blocks(const Convolution& convolution);

/// What block_convolution's has, without making it.
std::size_t block_workspace_bytes(const Convolution& convolution);

/// Of one that fits_blocks. Compiles, or takes from the kernel cache, at once.
std::shared_ptr<PreparedConvolution> block_convolution(Backend& backend, const Convolution& convolution);

}  // namespace damo
