// The graph that function() begins with.
#pragma once
#include <span>

#include <damo/options.hpp>

namespace damo {

/// A snapshot of what outputs and updates need, givens put in, with the updates of random streams; without what only gradients are taken of.
FunctionGraph graph_of(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options);

}  // namespace damo
