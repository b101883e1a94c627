// Signals and pictures: convolution of vectors, upsampling, separable convolution. Arrays have the same names in array_signal.hpp, of which this page is the
// manual too. All are made of the ops of conv.hpp and elementwise ones, whose gradients they have. See tests/conv/signal_test.cpp.
#pragma once
#include <cstdint>

#include <damo/variable.hpp>
#include <damo/windows.hpp>

namespace damo {

/// Of a vector of m elements and one of n, as NumPy has them. kFull: all m + n - 1 sums with an element of each. kSame: the middle max(m, n) of them; kValid: the
/// max(m, n) - min(m, n) + 1 of as many products as the shorter has elements.
enum class ConvolveMode { kFull, kSame, kValid };

/// sum over k of x[k] w[i - k]: w is turned around, as mathematics has it and conv1d has not. Promoted; integers and bools are added in their dtype, modulo 2^n.
/// kSame and kValid, and all of integers, want the extent of w to be known when the graph is built, and one that is not known of x to be no less. ShapeError for another rank than 1,
/// and for a vector of no elements where that is known. Cost: m n products; of integers also m n elements of memory.
Variable convolve(const Operand& x, const Operand& w, ConvolveMode mode = ConvolveMode::kFull);

/// x (n, channels, height, width) -> (n, channels, ratio height, ratio width): between the elements, whose centres stay where they are, linearly along both axes; beyond the
/// outermost centres as those. PyTorch's with align_corners=False; Theano's begins at the first element instead. Floating dtypes.
Variable bilinear_upsampling(const Operand& x, std::int64_t ratio);

/// conv2d of each channel alone with depthwise (channels multiplier, 1, height, width), then across channels with pointwise (filters, channels multiplier, 1, 1).
/// options: those of the first; groups are the channels, which are to be known when the graph is built.
Variable separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise, const ConvOptions& options = {});

}  // namespace damo
