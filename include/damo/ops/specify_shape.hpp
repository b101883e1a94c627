// What is known of a value's shape beside what its ops tell: Theano's specify_shape.
//
//   Variable rows = specify_shape(subtensor(x, mask), {kUnknown, 784});        // 784 columns are known from here on
//   Variable column = specify_shape(y, {kUnknown, 1});                          // now it stretches: x * column
//
// See tests/function/shape_test.cpp.
#pragma once
#include <damo/shape.hpp>
#include <damo/variable.hpp>

namespace damo {

/// x, with its extents in its type: those of shape, and x's own where shape has kUnknown. A view, compared at each call; x itself where nothing is new.
/// x: any dtype, as many axes as shape. ShapeError for another rank or extent: when the graph is built where x's is known, else at the call.
Variable specify_shape(const Operand& x, const Shape& shape);

}  // namespace damo
