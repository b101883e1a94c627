// What function() does to a graph before it runs: which nodes it begins with, and which passes.
#pragma once
#include <span>
#include <string>
#include <vector>

#include <damo/options.hpp>

namespace damo {

/// A snapshot of what outputs and updates need, givens put in, with the updates of random streams; without what only gradients are taken of.
FunctionGraph graph_of(std::span<const Variable> inputs, std::span<const Variable> outputs, const Options& options);

/// All passes, in order; the names of those that are not to run: disabled_passes.
std::vector<Pass> passes_of(const Options& options, Device device);
std::vector<Pass> fusion_passes(const Options& options);
std::vector<std::string> disabled_passes(const Options& options);

}  // namespace damo
