#include "ops/eager/axis_groups.hpp"

#include <algorithm>
#include <cstdlib>

namespace damo {
namespace {

struct Axis {
  std::int64_t extent;
  std::vector<std::int64_t> strides;
};

AxisGroup merge(const std::vector<Axis>& axes, std::size_t count) {
  AxisGroup group;
  group.strides.resize(count);
  for (const Axis& axis : axes) {
    group.size *= axis.extent;
    if (axis.extent == 1) continue;
    bool merges = !group.extents.empty();
    for (std::size_t i = 0; i < count && merges; ++i) merges = group.strides[i].back() == axis.strides[i] * axis.extent;
    if (merges)
      group.extents.back() *= axis.extent;
    else
      group.extents.push_back(axis.extent);
    for (std::size_t i = 0; i < count; ++i) {
      if (merges)
        group.strides[i].back() = axis.strides[i];
      else
        group.strides[i].push_back(axis.strides[i]);
    }
  }
  return group;
}

}  // namespace

AxisGroups::AxisGroups(const Shape& space, std::span<const Array> arrays, std::uint32_t reduced_axes, bool with_index) {
  const Strides index = contiguous_strides(space);
  std::vector<Axis> groups[2];
  for (int axis = 0; axis < space.rank(); ++axis) {
    Axis one{space[axis], {}};
    for (const Array& array : arrays) {
      const int own = axis - (space.rank() - array.rank());
      one.strides.push_back(own < 0 || array.shape()[own] == 1 ? 0 : array.strides()[own]);
    }
    one.strides.push_back(with_index ? index[axis] : 0);
    groups[reduced_axes >> axis & 1u].push_back(std::move(one));
  }
  if (!with_index) {
    if (!arrays.empty()) {
      std::stable_sort(groups[1].begin(), groups[1].end(),
                       [](const Axis& a, const Axis& b) { return std::abs(a.strides[0]) > std::abs(b.strides[0]); });
    }
    for (auto& group : groups) {
      for (Axis& axis : group) axis.strides.back() = 0;
    }
  }
  kept = merge(groups[0], arrays.size() + 1);
  reduced = merge(groups[1], arrays.size() + 1);
}

}  // namespace damo
