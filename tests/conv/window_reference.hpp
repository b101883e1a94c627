// Convolution and pooling by loops over everything, in double precision, as the definitions say: what the library is held against.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

namespace damo::testing {

using Triple = std::array<std::int64_t, 3>;

/// One set of windows over up to three spatial axes; unused axes are neutral.
struct WindowCase {
  std::int64_t n = 1, groups = 1, channels = 1, filters = 1;  ///< channels and filters of all groups
  Triple in{1, 1, 1}, window{1, 1, 1}, stride{1, 1, 1}, dilation{1, 1, 1}, before{0, 0, 0}, after{0, 0, 0};
  Triple out() const {
    Triple extents{};
    for (std::size_t i = 0; i < 3; ++i) extents[i] = (in[i] + before[i] + after[i] - dilation[i] * (window[i] - 1) - 1) / stride[i] + 1;
    return extents;
  }
};

inline void for_each(const Triple& extents, const std::function<void(const Triple&)>& work) {
  for (std::int64_t a = 0; a < extents[0]; ++a)
    for (std::int64_t b = 0; b < extents[1]; ++b)
      for (std::int64_t c = 0; c < extents[2]; ++c) work({a, b, c});
}

inline std::size_t place_of(std::int64_t plane, const Triple& extents, const Triple& at) {
  return static_cast<std::size_t>(((plane * extents[0] + at[0]) * extents[1] + at[1]) * extents[2] + at[2]);
}

/// Calls with the places in x, w and y of each product that a convolution adds up.
inline void for_each_product(const WindowCase& c, const std::function<void(std::size_t x, std::size_t w, std::size_t y)>& work) {
  const std::int64_t channels = c.channels / c.groups, filters = c.filters / c.groups;
  for (std::int64_t n = 0; n < c.n; ++n)
    for (std::int64_t filter = 0; filter < c.filters; ++filter)
      for (std::int64_t channel = 0; channel < channels; ++channel)
        for_each(c.out(), [&](const Triple& p) {
          for_each(c.window, [&](const Triple& j) {
            Triple at{};
            for (std::size_t i = 0; i < 3; ++i) {
              at[i] = p[i] * c.stride[i] + j[i] * c.dilation[i] - c.before[i];
              if (at[i] < 0 || at[i] >= c.in[i]) return;
            }
            work(place_of(n * c.channels + filter / filters * channels + channel, c.in, at), place_of(filter * channels + channel, c.window, j), place_of(n * c.filters + filter, c.out(), p));
          });
        });
}

/// Calls with each window's place in y and the places in x of what it has, in C order. channels: of x and y.
inline void for_each_window(const WindowCase& c, const std::function<void(std::size_t y, const std::vector<std::size_t>& x)>& work) {
  for (std::int64_t plane = 0; plane < c.n * c.channels; ++plane)
    for_each(c.out(), [&](const Triple& p) {
      std::vector<std::size_t> has;
      for_each(c.window, [&](const Triple& j) {
        Triple at{};
        for (std::size_t i = 0; i < 3; ++i) {
          at[i] = p[i] * c.stride[i] + j[i] - c.before[i];
          if (at[i] < 0 || at[i] >= c.in[i]) return;
        }
        has.push_back(place_of(plane, c.in, at));
      });
      work(place_of(plane, c.out(), p), has);
    });
}

}  // namespace damo::testing
