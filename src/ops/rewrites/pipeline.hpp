// The passes of function(), in their order: for its graph, and for the graphs within it (InnerGraphOp), without the user's own passes.
#pragma once
#include <string>
#include <vector>

#include <damo/options.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

/// All of them; the names of those that are not to run: disabled_passes.
std::vector<Pass> passes_of(const Options& options, Device device, FusionRecord* record = nullptr);
/// Those that make kernels of elementwise nodes and reductions. record: outlives them.
std::vector<Pass> fusion_passes(const Options& options, Device device, FusionRecord* record = nullptr);
std::vector<std::string> disabled_passes(const Options& options);
/// Throws OptionError for a name in Options::disable that is no pass or rule, of Damo's or of the user's.
void check_disabled(const Options& options);

FunctionGraph rewrite_graph(FunctionGraph graph, const Options& options, Device device, std::vector<PassReport>* reports = nullptr, FusionRecord* record = nullptr);

}  // namespace damo
