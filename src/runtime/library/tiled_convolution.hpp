// Convolutions on a CPU by kernels that hold a block of the result in registers and read x where it lies, so no matrix of windows is made:
//
//   forward          a block: some filters by two vectors of places; each element of a window is two loads of x and a product with each filter
//   input gradient   a block: some elements of windows by two vectors of places, summed over filters, then added to x
//   weight gradient  a block: some elements of windows by a vector of filters, summed over places
//
// Groups of one or two filters, or one by x (depthwise convolution), would leave such blocks mostly empty. They have blocks of places alone (narrow_text.hpp): forward some
// lines by some vectors along the last axis; by x a line of y is added to x once an element of the window; by w some elements of the window by a vector of places.
//
// A picture with zeros around it, or of 16-bit floats, is first copied to a thread's scratch memory, so that inner loops look at no border. Pictures, parts
// of pictures and parts of batches are shared among threads in ways that follow from sizes alone, and each element is added up in one order: results do
// not depend on the number of threads. The text is CUDA C with Clang's vectors, in blocks of one thread.
#pragma once
#include <memory>

#include "runtime/backend.hpp"
#include "runtime/library/convolution.hpp"

namespace damo {

/// Null on other devices, and for a picture of 2^31 elements or more.
std::shared_ptr<PreparedConvolution> tiled_convolution(Backend& backend, const Convolution& convolution);

}  // namespace damo
