// The gradient of a random graph's first result of float32 or float64 by its floating inputs, as a graph of its own.
//
// What it should be comes from the same graph with float64 in the place of float32, not rewritten, nothing fused. Rounding is bounded by how far that
// gradient moves when each input does by a few units in float32's last places; where it moves far (a comparison of nearly equal values) nothing is expected.
// The float64 gradient itself is held against differences of the graph's result in float64, wherever differences of two widths agree.
#pragma once
#include <string>
#include <vector>

#include "graph_spec.hpp"

namespace damo::testing {

/// The value whose gradient is looked at; -1: none.
int differentiated(const GraphSpec& graph);

/// What is wrong; empty if nothing is, and where there is no gradient: 16-bit floats, ops without one.
/// compared: counts elements of gradients of which something is expected.
std::string check_gradient(const GraphSpec& graph, Device device, std::size_t& compared);

}  // namespace damo::testing
