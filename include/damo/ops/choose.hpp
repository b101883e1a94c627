// Elements out of several tensors, and grids. Arrays have the same names in array_choose.hpp, of which this page is the manual too.
//
//   choose(k, {x, y, z})                          x where k is 0, y where it is 1, z where it is 2
//   auto grid = meshgrid({x, y}, "ij");           grid[0][i, j] = x[i], grid[1][i, j] = y[j]
//
// See tests/function/choose_test.cpp.
#pragma once
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <damo/variable.hpp>

namespace damo {

/// The element of that one of the choices which `which` numbers, all broadcast to a common shape and promoted to a common dtype. which: integers; negative ones
/// count from the end, where NumPy refuses them; IndexError at the call for one beyond. One elementwise kernel. The gradient goes to the choice that was taken.
/// GraphError for no choices.
Variable choose(const Operand& which, std::span<const Variable> choices);
inline Variable choose(const Operand& which, std::initializer_list<Variable> choices) { return choose(which, std::span(choices.begin(), choices.size())); }

/// Of vectors, each along an axis of its own of a common shape: "ij" the i-th along axis i, "xy", as NumPy unless told, the first along axis 1 and the second along
/// axis 0. ShapeError for another rank than 1, OptionError for another text.
std::vector<Variable> meshgrid(std::span<const Variable> vectors, std::string_view indexing = "xy", SourceLine where = {__builtin_FILE(), __builtin_LINE()});
inline std::vector<Variable> meshgrid(std::initializer_list<Variable> vectors, std::string_view indexing = "xy", SourceLine where = {__builtin_FILE(), __builtin_LINE()}) {
  return meshgrid(std::span(vectors.begin(), vectors.size()), indexing, where);
}

}  // namespace damo
