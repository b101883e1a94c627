// A gradient in the shape of what it is the gradient of.
#pragma once
#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// g, which may broadcast, in the shape of x; of x only the shape is read. g itself where the types say that it has
/// that shape. Throws ShapeError at the call if x would have to stretch to g's shape: then x was stretched in an
/// elementwise op along an axis of unknown extent, and nobody knew that its gradient is a sum. Fuses as a row does.
Variable match_shape(const Variable& g, const Variable& x, SourceLine where);

}  // namespace damo
