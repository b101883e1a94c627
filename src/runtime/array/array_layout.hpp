// Where the elements of a shape with strides lie: byte range, density, and host copies from any layout to any other.
// Strides are in elements, offsets in bytes from the first element. See tests/runtime/array/array_layout_test.cpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include <damo/shape.hpp>

namespace damo {

class Array;
class Backend;

/// The back end's memory can be read and written by this process: the CPU's, the null device's.
bool is_host(const Backend& backend);

/// Offsets [first, last) of the bytes that hold elements; first <= 0. No elements: [0, 0).
struct ByteRange {
  std::int64_t first = 0, last = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(last - first); }
};
ByteRange byte_range(const Shape& shape, const Strides& strides, std::size_t item_bytes);

/// Whether their ranges of memory, with what lies between their elements, meet.
bool share_memory(const Array& a, const Array& b);

/// The elements fill their byte range without a gap, each once, in any order of axes and of either sign.
bool is_dense(const Shape& shape, const Strides& strides);

/// Why whoever writes the elements could write some place several times, told of whose ("the result"); "" where each element has a place of its
/// own. Taken in the order of their strides, axes must each step over what those before them span, as they do in slices of a dense array; a
/// layout that interleaves its axes otherwise is taken to share places.
std::string shared_places(const Shape& shape, const Strides& strides, const std::string& whose);

/// Host memory, elements of 1, 2, 4 or 8 bytes, any alignment. The byte ranges must not overlap.
void copy_strided(std::size_t item_bytes, const Shape& shape, void* to, const Strides& to_strides, const void* from,
                  const Strides& from_strides);

}  // namespace damo
