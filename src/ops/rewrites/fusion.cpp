#include "ops/rewrites/fusion.hpp"

#include <utility>

#include "ops/rewrites/fusion_build.hpp"
#include "ops/rewrites/fusion_cut.hpp"
#include "ops/rewrites/fusion_groups.hpp"

namespace damo {

FunctionGraph fuse_elementwise(FunctionGraph graph, const FusionLimits& limits) {
  std::vector<std::vector<NodeId>> kernels;
  {
    const FusionGroups groups(graph);
    FusionCut cut(graph, limits);
    for (const std::vector<NodeId>& members : groups.groups()) {
      for (std::vector<NodeId>& run : cut(members)) {
        if (run.size() > 1) kernels.push_back(std::move(run));
      }
    }
  }
  for (const std::vector<NodeId>& members : kernels) replace_by_fused(graph, members);
  graph.prune();
  return graph;
}

}  // namespace damo
