// Convolutions and pooling in a graph. Those of Arrays (array_conv.hpp) have the same names and meaning; this page is the manual of both.
//
//   Variable h = conv2d(x, w, {.padding = Border::kSame});          // x (n, channels, height, width), w (filters, channels, 5, 5)
//   Variable p = max_pool2d(relu(h), 2);                            // half of the height, half of the width
//
// As in PyTorch and cuDNN convolution means cross-correlation: w is not turned around. Axes: x (n, channels, extents...), w (filters, channels / groups,
// extents...), the result (n, filters, extents...), whose extents are (extent + 2 padding - dilation (window - 1) - 1) / stride + 1, rounded down. x
// and w are promoted to one floating dtype; products of float16 and bfloat16 are added up in float32. What does not lie in C order is copied first; n may be 0.
//
// On a GPU cuDNN convolves where it is installed, or a kernel of Damo's own (runtime/library/block_convolution.hpp), whichever is faster (runtime/cuda/cudnn_engine.hpp); on the CPU
// kernels that hold blocks of the result in registers and read x where it lies (runtime/library/tiled_convolution.hpp). Results are the same bits at every
// call, and on the CPU with any number of threads. Convolutions and pooling have gradients
// of every order. TypeError for what is not floating; ShapeError for windows that do not fit into x with its padding, groups that do not divide, channels that
// do not match: when the graph is built where extents are known, else at the call. See tests/conv/conv_test.cpp, tests/conv/pool_test.cpp and examples/57_lenet.cpp.
#pragma once
#include <damo/variable.hpp>
#include <damo/windows.hpp>

namespace damo {

/// x (n, channels, length), w (filters, channels / groups, window).
Variable conv1d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// x (n, channels, height, width), w (filters, channels / groups, window height, window width).
Variable conv2d(const Operand& x, const Operand& w, const ConvOptions& options = {});
/// x (n, channels, depth, height, width), w with three extents too.
Variable conv3d(const Operand& x, const Operand& w, const ConvOptions& options = {});

/// What the gradient of a convolution by its x computes: x (n, filters, extents...), w (filters, channels / groups, extents...) -> (n, channels, extents...)
/// of stride (extent - 1) - 2 padding + dilation (window - 1) + 1 + output_padding each. PyTorch's conv_transpose.
Variable conv_transpose1d(const Operand& x, const Operand& w, const ConvTransposeOptions& options = {});
Variable conv_transpose2d(const Operand& x, const Operand& w, const ConvTransposeOptions& options = {});
Variable conv_transpose3d(const Operand& x, const Operand& w, const ConvTransposeOptions& options = {});

/// The greatest element of each window, of any floating dtype: x (n, channels, extents...) -> extents of a convolution's. A NaN is the greatest. The
/// gradient goes to the first of equals in C order.
Variable max_pool1d(const Operand& x, const PerAxis& window, const PoolOptions& options = {});
Variable max_pool2d(const Operand& x, const PerAxis& window, const PoolOptions& options = {});
Variable max_pool3d(const Operand& x, const PerAxis& window, const PoolOptions& options = {});

/// The mean of each window.
Variable avg_pool1d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options = {});
Variable avg_pool2d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options = {});
Variable avg_pool3d(const Operand& x, const PerAxis& window, const AvgPoolOptions& options = {});
/// The mean over all spatial axes: (n, channels, extents...) -> (n, channels).
Variable global_avg_pool(const Operand& x);

}  // namespace damo
