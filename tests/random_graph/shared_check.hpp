// A random graph whose inputs are shared variables, some of which get results as new values.
#pragma once
#include <string>
#include <vector>

#include "graph_spec.hpp"
#include "reference.hpp"

namespace damo::testing {

/// Each other input is a shared variable. Those of which there is a value of the same type are updated by it: written where they lie, where nobody
/// else needs the old one. What is wrong; empty if nothing is. expected: by call, by value; updates: counts
/// the variables.
std::string check_shared(const GraphSpec& graph, const std::vector<std::vector<Tensor>>& expected, Device device, std::size_t& updates);

}  // namespace damo::testing
