#include "ops/rewrites/fusion.hpp"

#include <utility>

#include "ops/rewrites/fusion_groups.hpp"
#include "ops/rewrites/fusion_build.hpp"

namespace damo {

FunctionGraph fuse_elementwise(FunctionGraph graph, const FusionLimits& limits) {
  const FusionGroups groups(graph);
  for (const std::vector<NodeId>& members : groups.groups()) {
    for (const std::vector<NodeId>& part : split_group(graph, members, limits)) {
      if (part.size() > 1) replace_by_fused(graph, part);
    }
  }
  graph.prune();
  return graph;
}

}  // namespace damo
