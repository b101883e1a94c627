// What a kernel may write while it reads; and copies by a kernel, which cast.
#pragma once
#include <string_view>

#include <damo/array.hpp>

namespace damo {

/// Whether writing out element by element could change elements of input that are still to be read: they share memory,
/// and not place for place.
bool would_overwrite(const Array& out, const Array& input);

/// Throws ShapeError for an Array in which several elements are one, or may be (shared_places).
void check_writable(std::string_view name, const Array& out);

/// The elements in C order, in a new array of dtype on the same device, by one kernel.
Array packed_copy(const Array& array, DType dtype);
inline Array packed_copy(const Array& array) { return packed_copy(array, array.dtype()); }
/// Elements of from, cast and broadcast, into to. They must not overlap.
void copy_into(const Array& to, const Array& from);

}  // namespace damo
