// Rules for parts of what concatenate puts together, and of what a roll does: their views are the plainest there are. Exact.
#include <cstdint>
#include <utility>
#include <vector>

#include <damo/ops/shape.hpp>
#include <damo/ops/subtensor.hpp>
#include "ops/concatenate_op.hpp"
#include "ops/rewrites/match.hpp"
#include "ops/roll_op.hpp"

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

/// Two parts side by side, in which work on the whole is done without it (divide_among_parts).
Variable part_roll(Site& site) {
  const auto& op = static_cast<const RollOp&>(site.op());
  const Variable x = site.operand(site.input(0));
  const std::int64_t extent = x.dims()[op.axis()];
  if (extent == kUnknown || extent == 0) return {};
  const std::int64_t shift = op.shift(extent);
  if (shift == 0) return if_fits(site, x);
  std::vector<Index> last(static_cast<std::size_t>(op.axis()) + 1), first = last;
  last.back() = Index(extent - shift, extent);
  first.back() = Index(0, extent - shift);
  return if_fits(site, concatenate({subtensor(x, last), subtensor(x, first)}, op.axis()));
}

}  // namespace

std::vector<Rule> part_rules() {
  return {
      {.name = "slice_part", .takes = [](const Op& op) { return dynamic_cast<const PartOp*>(&op) != nullptr; }, .rewrite = slice_part},
      {.name = "part_roll", .takes = [](const Op& op) { return dynamic_cast<const RollOp*>(&op) != nullptr; }, .rewrite = part_roll},
  };
}

}  // namespace damo
