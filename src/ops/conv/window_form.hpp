// WindowForm: how windows go over the spatial axes behind the first two of pictures (n, channels, extents...), of convolutions and pooling: what the user's
// options mean for so many axes, and the extents that follow. Errors begin with the name of the function that the user called.
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include <damo/op.hpp>
#include <damo/windows.hpp>
#include "runtime/library/convolution.hpp"

namespace damo {

/// As many numbers as there are axes, none below least; neutral: for the other axes. ShapeError in the function's name for another count, and for numbers out of range.
Extents3 numbers_of(const std::string& name, const char* what, const PerAxis& given, int axes, std::int64_t least, std::int64_t neutral);

struct WindowForm {
  std::string name;  ///< "conv2d"
  int axes = 2;      ///< 1 to 3; further members have as many entries, those behind are neutral
  Extents3 stride{1, 1, 1}, dilation{1, 1, 1}, padding{0, 0, 0};
  bool is_same = false;  ///< padding follows from extents
  std::int64_t groups = 1;
  Extents3 output_padding{0, 0, 0};  ///< of transposed convolutions

  /// Throw ShapeError for options that mean nothing.
  static WindowForm of(std::string name, int axes, const ConvOptions& options);
  static WindowForm of(std::string name, int axes, const ConvTransposeOptions& options);
  /// Of pooling; kernel gets the window.
  static WindowForm of(std::string name, int axes, const PerAxis& window, const PerAxis& stride, const PerAxis& padding, Extents3& kernel);

  /// Windows along an axis, of an extent that may be kUnknown; ShapeError for a window that does not fit.
  std::int64_t windows(int axis, std::int64_t extent, std::int64_t kernel) const;
  /// The extent that transposed convolution gives to so many windows.
  std::int64_t transposed(int axis, std::int64_t windows, std::int64_t kernel) const;
  /// Zeros in front.
  std::int64_t before(int axis, std::int64_t extent, std::int64_t kernel, std::int64_t windows) const;
  Props props() const;

  /// x (n, channels, extents...) and w (filters, channels / groups, kernel...) -> y (n, filters, windows...). Extents may be kUnknown. ShapeError
  /// for channels that do not match and groups that do not divide.
  Shape convolved(const Shape& x, const Shape& w) const;
  /// y and w -> x.
  Shape transposed(const Shape& y, const Shape& w) const;
  /// As the device's library is asked for it; shapes fit each other.
  Convolution convolution(ConvolutionRole role, DType dtype, const Shape& x, const Shape& w, const Shape& y) const;
  /// Of pooling: x (n, channels, extents...) -> (n, channels, windows...); as a convolution whose groups are the channels.
  Shape pooled(const Shape& x, const Extents3& kernel) const;
  Convolution pooling(DType dtype, const Shape& x, const Extents3& kernel, const Shape& y) const;

 private:
  void require_filters(const Shape& w) const;
};

}  // namespace damo
