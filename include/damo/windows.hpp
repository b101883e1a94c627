// How windows go over the spatial axes of pictures (n, channels, extents...): the options of convolutions and pooling, of graphs
// (ops/conv.hpp) and of Arrays (array_conv.hpp).
//
//   conv2d(x, w, {.stride = 2, .padding = 1})               one number for all axes
//   conv2d(x, w, {.stride = {2, 1}, .padding = Border::kSame})
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

namespace damo {

/// A number for each spatial axis, or one for all of them.
class PerAxis {
 public:
  PerAxis() = default;  ///< none
  template <std::integral T>
  PerAxis(T all) : numbers_{static_cast<std::int64_t>(all)} {}
  PerAxis(std::initializer_list<std::int64_t> numbers) : numbers_(numbers) {}
  PerAxis(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {}
  /// None, one, or as many as there are axes: whoever is given another count refuses it.
  const std::vector<std::int64_t>& numbers() const { return numbers_; }

 private:
  std::vector<std::int64_t> numbers_;
};

/// What stands around x. kValid: nothing. kSame: so many zeros that the result has ceil(extent / stride) elements; where their number is odd
/// the one more stands behind.
enum class Border { kValid, kSame };

/// Elements at each end of an axis.
class Padding {
 public:
  template <std::integral T>
  Padding(T all) : width_(all) {}
  Padding(std::initializer_list<std::int64_t> widths) : width_(widths) {}
  Padding(PerAxis width) : width_(std::move(width)) {}
  Padding(Border border) : width_(0), is_same_(border == Border::kSame) {}
  const PerAxis& width() const { return width_; }
  bool is_same() const { return is_same_; }

 private:
  PerAxis width_;
  bool is_same_ = false;
};

struct ConvOptions {
  PerAxis stride = 1;         ///< from one window to the next
  Padding padding = 0;        ///< zeros around x
  PerAxis dilation = 1;       ///< from one element of x that a window takes to the next
  std::int64_t groups = 1;    ///< channels fall into so many groups, each seen by as many of the filters alone
};

struct ConvTransposeOptions {
  PerAxis stride = 1;
  PerAxis padding = 0;         ///< elements cut off at each end of the result
  PerAxis output_padding = 0;  ///< elements more at the end of the result, fewer than the stride: which of the extents that convolve to x's is meant
  PerAxis dilation = 1;
  std::int64_t groups = 1;
};

struct PoolOptions {
  PerAxis stride = {};         ///< the window unless told
  PerAxis padding = 0;         ///< at most half of the window; never the greatest
};

struct AvgPoolOptions {
  PerAxis stride = {};             ///< the window unless told
  PerAxis padding = 0;             ///< zeros, at most half of the window
  bool count_include_pad = true;   ///< false: each mean is over the elements of x that its window has
};

}  // namespace damo
