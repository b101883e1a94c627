// An Array's values fixed in a graph.
//
//   Variable window = constant(Array::from(taps, {5}), "window");     // then as any Variable: conv1d(x, window)
//
// See tests/function/shape_test.cpp.
#pragma once
#include <string>

#include <damo/array.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Of the array's dtype and shape, with a copy of its elements in host memory, from any device and of any strides: what happens to the array later changes
/// nothing. For tables and filters; large data that a program replaces, or that should stay on a device, are shared variables (shared.hpp). TypeError for an empty Array.
Variable constant(const Array& value, std::string name = {}, SourceLine where = {__builtin_FILE(), __builtin_LINE()});

}  // namespace damo
