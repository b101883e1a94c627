// Random graphs as C++ programs.
#pragma once
#include <string>

#include "graph_spec.hpp"

namespace damo::testing {

/// A program that builds and calls the graph and prints each result beside what it should be. Self-contained: it is
/// compiled as examples/ are.
std::string program_of(const GraphSpec& graph, const std::string& device, const std::string& what);

/// "Array::from(std::vector<double>{1, 2}, device)", in the dtype; every value exact.
std::string array_text(const std::vector<Scalar>& values, DType dtype);
std::string extents_text(const Shape& shape);  ///< "{2, -1}"

}  // namespace damo::testing
