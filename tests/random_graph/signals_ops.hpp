// Convolution of vectors, upsampling, windows as rows, separable convolution, means of pictures, in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

/// numbers: the mode, the ratio, a number of spatial axes.
template <class T>
std::vector<T> signals_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const auto finite = [](const T& x) { return is_floating(x.dtype()) ? tamed(x) : x; };
  const T x = finite(in[0]), y = finite(in.back());
  if (how == "convolve") {  // by three elements: whoever wants an extent knows it
    const T first = subtensor(y, {0}), last = subtensor(y, {-1});
    return {convolve(x, stack({first, last, first}, 0), static_cast<ConvolveMode>(numbers[0]))};
  }
  if (how == "convolve_whole") return {convolve(x, y)};
  if (how == "global_avg_pool") return {global_avg_pool(as_picture(x, numbers[2]))};
  if (how == "bilinear_upsampling") return {bilinear_upsampling(as_picture(x, 2), numbers[1])};
  if (how == "images2neibs") return {images2neibs(as_picture(x, 2), numbers[1], numbers[0] + 1)};
  const T one = as_picture(x, 2), corner = subtensor(one, {Index(), Index(), Index(0, 1), Index(0, 1)});  // "separable_conv2d"
  const T window = subtensor(one, {Index(), Index(), Index(0, numbers[1]), Index(0, numbers[1])});
  const T depthwise = concatenate({window, mul(window, 2), sub(window, 1), window}, 0), pointwise = concatenate({corner, add(corner, 1), mul(corner, 0.5), corner}, 1);
  return {separable_conv2d(concatenate({one, flip(one, -1)}, 1), depthwise, pointwise)};
}

}  // namespace damo::testing
