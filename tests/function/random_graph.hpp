// Random typed graphs with what they should give: an interpreter in float64 that carries, for each element, a bound of
// the error that any order of rounding may cause. What the bound leaves open (a comparison of nearly equal values, a
// cast near an integer, an overflow) is marked unknown and everything that follows from it.
#pragma once
#include <string>
#include <vector>

#include <damo/damo.hpp>

namespace damo::testing {

struct Element {
  double value = 0, error = 0;  ///< infinite error: unknown
};

struct Reference {
  DType dtype = float32;
  Shape shape;
  std::vector<Element> elements;  ///< C order
};

struct RandomGraph {
  std::vector<Variable> inputs, outputs;
  std::vector<Reference> arguments, expected;
  std::vector<int> layouts;  ///< how each argument lies in memory
  std::string text;          ///< the graph, a line a node
};

RandomGraph random_graph(unsigned seed);

/// The argument on the device, lying as `layout` says: contiguous, transposed, backwards, every other element, ...
Array place(const Reference& argument, int layout, Device device);

/// What is wrong with the array; empty if nothing is. known counts the elements that could be compared.
std::string difference(const Array& array, const Reference& expected, std::size_t& known);

}  // namespace damo::testing
