#include "ops/indexing/index_plan.hpp"

#include <algorithm>
#include <numeric>

#include <damo/error.hpp>

namespace damo {
namespace {

bool is_whole(const Index& index) { return !index.is_position() && !index.slice().start && !index.slice().stop && index.slice().step == 1; }

/// Items with slices in the ellipsis' place, or at the end; the ellipsis stays, since it separates tensors though it stand for nothing.
std::vector<IndexPlan::Item> filled(const std::string& user, std::vector<IndexPlan::Item> items, int rank) {
  int named = 0, ellipses = 0;
  for (const IndexPlan::Item& item : items) {
    named += item.kind == IndexKind::kIndex || item.kind == IndexKind::kTensor ? item.axes : 0;
    ellipses += item.kind == IndexKind::kEllipsis;
  }
  if (ellipses > 1) throw ShapeError(user + ": " + std::to_string(ellipses) + " ellipses", "one says which axes are whole");
  require_axes_for(user, static_cast<std::size_t>(named), rank);
  const auto place = std::find_if(items.begin(), items.end(), [](const IndexPlan::Item& item) { return item.kind == IndexKind::kEllipsis; });
  items.insert(place, static_cast<std::size_t>(rank - named), IndexPlan::Item{IndexKind::kIndex, Index()});
  return items;
}

}  // namespace

void require_axes_for(const std::string& user, std::size_t indices, int rank) {
  if (indices <= static_cast<std::size_t>(rank)) return;
  throw ShapeError(user + ": " + std::to_string(indices) + " indices for " + std::to_string(rank) + (rank == 1 ? " axis" : " axes"), "give at most one for each axis; expand_dims makes more of these");
}

IndexPlan IndexPlan::of(const std::string& user, const std::vector<Item>& items, int rank) {
  const std::vector<Item> all = filled(user, items, rank);
  IndexPlan plan;
  std::vector<int> named, kept;  // axes of the part, and new ones
  enum { kBefore, kWithin, kBehind, kSeparated } state = kBefore;
  int axis = 0, part_axis = 0;
  for (const Item& item : all) {
    // A position beside tensors is one of them, as far as their place goes.
    if (item.kind == IndexKind::kTensor || item.index.is_position()) {
      if (state == kBefore) state = kWithin, plan.axis = static_cast<int>(kept.size());
      else if (state == kBehind) state = kSeparated;
    } else if (state == kWithin) {
      state = kBehind;
    }
    if (item.kind == IndexKind::kNewAxis) kept.push_back(kNewAxis);
    if (item.kind == IndexKind::kTensor) {
      plan.tensors.push_back({item.number, axis, item.axes});
      for (int i = 0; i < item.axes; ++i) plan.part.emplace_back(), named.push_back(part_axis++);
      axis += item.axes;
    }
    if (item.kind == IndexKind::kIndex) {
      plan.part.push_back(item.index);
      if (!item.index.is_position()) kept.push_back(part_axis++);
      ++axis;
    }
  }
  if (state == kSeparated) plan.axis = 0;
  plan.axes = static_cast<int>(named.size());
  plan.turned = kept;
  plan.turned.insert(plan.turned.begin() + plan.axis, named.begin(), named.end());
  plan.turned_back.resize(static_cast<std::size_t>(part_axis));
  for (std::size_t i = 0; i < plan.turned.size(); ++i) {
    if (plan.turned[i] != kNewAxis) plan.turned_back[static_cast<std::size_t>(plan.turned[i])] = static_cast<int>(i);
  }
  return plan;
}

std::span<const Index> IndexPlan::shortest() const {
  const auto last = std::find_if_not(part.rbegin(), part.rend(), is_whole);
  return std::span(part).first(static_cast<std::size_t>(part.rend() - last));
}
bool IndexPlan::takes_all() const { return shortest().empty(); }
bool IndexPlan::is_turned() const {
  std::vector<int> same(turned_back.size());
  std::iota(same.begin(), same.end(), 0);
  return turned != same;
}

}  // namespace damo
