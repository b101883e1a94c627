// Convolutions and pooling in random graphs. A printed program carries this file with it.
#pragma once
#include "family_parts.hpp"

namespace damo::testing {

inline Variable front_of(const Variable& x, const std::vector<std::int64_t>& counts) {
  std::vector<Index> indices;
  for (std::int64_t count : counts) indices.push_back(count < 0 ? Index() : Index(std::nullopt, count));
  return subtensor(x, indices);
}
inline Array front_of(const Array& x, const std::vector<std::int64_t>& counts) {
  std::vector<Slice> slices;
  for (std::int64_t count : counts) slices.push_back(count < 0 ? Slice{} : Slice{std::nullopt, count, 1});
  return x.slice(slices);
}

/// The weights: the front of the second value, up to two filters and `window` elements an axis.
template <class T>
T window_weights(const T& x, int spatial, int window) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(spatial) + 2, window);
  counts[0] = 2, counts[1] = -1;
  return front_of(as_picture(tamed(x), spatial), counts);
}

/// numbers: spatial axes, window, stride, padding, dilation, whether in two groups (of pooling: whether padding counts), output padding.
template <class T>
std::vector<T> windows_node(const std::string& how, const std::vector<T>& in, const std::vector<int>& numbers) {
  const int spatial = numbers[0], window = numbers[1], stride = numbers[2], padding = numbers[3], dilation = numbers[4];
  const bool flag = numbers[5] != 0;
  T x = as_picture(tamed(in[0]), spatial);
  if (how == "max_pool" || how == "avg_pool") {
    const PoolOptions most{.stride = stride, .padding = padding};
    const AvgPoolOptions mean{.stride = stride, .padding = padding, .count_include_pad = flag};
    if (how == "max_pool") return {spatial == 1 ? max_pool1d(x, window, most) : spatial == 2 ? max_pool2d(x, window, most) : max_pool3d(x, window, most)};
    return {spatial == 1 ? avg_pool1d(x, window, mean) : spatial == 2 ? avg_pool2d(x, window, mean) : avg_pool3d(x, window, mean)};
  }
  T w = window_weights(in[1], spatial, window);
  if (how == "conv_transpose") {
    w = swap_axes(w, 0, 1);
    const ConvTransposeOptions options{.stride = stride, .padding = padding, .output_padding = numbers[6], .dilation = dilation};
    return {spatial == 1 ? conv_transpose1d(x, w, options) : spatial == 2 ? conv_transpose2d(x, w, options) : conv_transpose3d(x, w, options)};
  }
  if (flag) x = concatenate({x, flip(x, -1)}, 1), w = concatenate({w, w}, 0);
  const ConvOptions options{.stride = stride, .padding = padding, .dilation = dilation, .groups = flag ? 2 : 1};
  const T y = spatial == 1 ? conv1d(x, w, options) : spatial == 2 ? conv2d(x, w, options) : conv3d(x, w, options);
  if constexpr (std::is_same_v<T, Variable>) {
    if (how == "conv_by_x") return {lop(y, y, x)};
    if (how == "conv_by_w") return {lop(y, y, w)};
  }
  return how == "conv" ? std::vector<T>{y} : std::vector<T>{};
}

}  // namespace damo::testing
