// Gather and Scatter: the kernels that follow positions, for graphs and for Arrays. Positions are checked_positions: int64, contiguous, numbers in C order
// over `axes` axes of x from `axis` on, in whose place their own axes stand in the result.
#pragma once
#include <cstdint>
#include <string>

#include <damo/array.hpp>
#include "ops/sort/radix_sort.hpp"

namespace damo {

/// The shape of what is taken from x; extents may be unknown.
Shape taken_shape(const Shape& x, const Shape& positions, int axis, int axes);
/// How many positions there are on these axes, kUnknown where an extent is.
std::int64_t walked_extent(const Shape& x, int axis, int axes);

/// Throws ShapeError unless y broadcasts to the part of x that is written; it stretches where its type says 1. Extents may be unknown.
void require_fits_part(const std::string& user, const Shape& part, const Shape& y, const Shape& type);

/// Copies slices. Strided: x lies in any way, and elements are found one by one; else x is in C order, and slices are copied in words of up to 16 bytes.
class Gather {
 public:
  Gather(const CompileKernel& compile, DType dtype, bool strided);
  /// z: contiguous, of taken_shape().
  void operator()(const Array& x, const Array& positions, const Array& z, int axis, int axes) const;

 private:
  bool strided_;
  Kernel kernel_;
};

enum class ScatterKind : bool { kSet, kAdd };

/// Whether OrderedScatter is to be taken for repeated positions: on a CPU, whose few threads need no sorted positions. 16-bit floats, which add up in
/// float32, want the sum of each position in one go.
bool scatters_in_order(Device device, DType dtype);

/// Writes slices as Scatter does, of positions in any order, equal ones among them. No 16-bit floats. Each worker reads all positions.
class OrderedScatter {
 public:
  /// from_zero: z has arbitrary contents before, and counts as zeros.
  OrderedScatter(const CompileKernel& compile, DType dtype, ScatterKind kind, bool from_zero = false);
  /// y: of taken_shape(), any strides; z: contiguous.
  void operator()(const Array& y, const Array& positions, const Array& z, int axis, int axes) const;

 private:
  Kernel kernel_;
  bool from_zero_;
};

/// Writes slices, without atomics and the same at every call: the last of those at one position, or their sum in order, to what is there. 16-bit floats add
/// up in float32.
class Scatter {
 public:
  Scatter(const CompileKernel& compile, DType dtype, ScatterKind kind);
  /// y: of taken_shape(), any strides; z: contiguous. keys: positions in order, each from order[i] in C order, ascending among equals; without an order
  /// the positions as they are, no two of which are equal.
  void operator()(const Array& y, const Array& keys, const Array& order, const Array& z, int axis, int axes) const;

 private:
  Kernel kernel_;
};

}  // namespace damo
