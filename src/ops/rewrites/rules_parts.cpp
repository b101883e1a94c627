// The rule for parts of what concatenate puts together: their views are the plainest there are. Exact.
#include <cstdint>
#include <utility>
#include <vector>

#include <damo/ops/subtensor.hpp>
#include "ops/concatenate_op.hpp"
#include "ops/rewrites/match.hpp"

namespace damo {
namespace {

/// Where extents are known the place of a part is too: its view does not wait for the parts before it.
Variable slice_part(Site& site) {
  const auto& op = static_cast<const PartOp&>(site.op());
  std::int64_t first = 0, whole = 0, extent = 0;
  for (int i = 1; i < static_cast<int>(site.inputs().size()); ++i) {
    extent = site.type(site.input(i)).dims[op.axis()];
    if (extent == kUnknown) return {};
    if (i <= op.part()) first += extent;
    whole += extent;
  }
  extent = site.type(site.input(op.part() + 1)).dims[op.axis()];
  if (site.type(site.input(0)).dims[op.axis()] != whole) return {};
  std::vector<Index> indices(static_cast<std::size_t>(op.axis()) + 1);
  indices.back() = Index(first, first + extent);
  return if_fits(site, subtensor(site.operand(site.input(0)), indices));
}

}  // namespace

std::vector<Rule> part_rules() {
  return {
      {.name = "slice_part", .takes = [](const Op& op) { return dynamic_cast<const PartOp*>(&op) != nullptr; }, .rewrite = slice_part},
  };
}

}  // namespace damo
