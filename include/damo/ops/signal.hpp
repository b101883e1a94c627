// Signals and pictures: convolution of vectors, upsampling, separable convolution, windows as rows, turned and stretched pictures. Arrays have the same names in array_signal.hpp, of which this page is the
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

/// x (n, channels, height, width) -> (windows, window height * window width): the elements of each window of each channel, in the order of n, channels, and the
/// places of the windows from the top left. window, step: one extent or two; step: the window's unless told, from one window to the next. What fills no window
/// is left out. Theano's, with mode "ignore_borders". Any dtype. ShapeError for another rank, and a window or step below 1. Cost: the result is written, and once before with its axes in another order.
Variable images2neibs(const Operand& x, const PerAxis& window, const PerAxis& step = {});

/// x (n, channels, h, w), theta (n, 2, 3) -> (n, channels, height, width): the element at (u, v), both from -1 to 1, is x's at theta (u, v, 1), linearly between the four around
/// it, and 0 beyond x's elements; -1 and 1 are the centres of the outermost ones. (Jaderberg et al. 2015, as cuDNN's and Lasagne's.) The result's first coordinate runs along width.
/// Floating dtypes; places are computed in float32 or float64. Gradients of both. ShapeError for other axes. Cost: four gathers of as many elements as the result has.
Variable spatial_transformer(const Operand& x, const Operand& theta, std::int64_t height, std::int64_t width);

/// conv2d of each channel alone with depthwise (channels multiplier, 1, height, width), then across channels with pointwise (filters, channels multiplier, 1, 1).
/// options: those of the first; groups are the channels, which are to be known when the graph is built.
Variable separable_conv2d(const Operand& x, const Operand& depthwise, const Operand& pointwise, const ConvOptions& options = {});

}  // namespace damo
