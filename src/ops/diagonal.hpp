// The diagonal of two axes, as a view: einsum's repeated letters.
#pragma once
#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Axes a < b, of one extent, become one in a's place. Throws ShapeError if their extents differ.
Variable diagonal(const Variable& x, int a, int b, SourceLine line);

}  // namespace damo
