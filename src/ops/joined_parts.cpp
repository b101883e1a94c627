#include "ops/joined_parts.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <damo/array_constant.hpp>
#include <damo/ops/shape.hpp>
#include "ops/elementwise_op.hpp"
#include "ops/gradient_parts.hpp"
#include "ops/lower.hpp"
#include "ops/subtensor_op.hpp"
#include "runtime/array/view_layout.hpp"

namespace damo {
namespace {

struct GradientPart {
  int axis = 0;
  std::int64_t first = 0, count = 0;
  bool is_position = false;
  Variable value;
};

bool is_zero_fill(const Variable& x) {
  if (!x.has_owner()) return false;
  const Apply fill = x.owner();
  const auto* op = dynamic_cast<const ElementwiseOp*>(&fill.op());
  return op && op->row() == *find_elementwise("second") && is_literal(fill.input(1).constant()) && fill.input(1).constant()->scalar().as_double() == 0;
}

bool is_whole_axis(const Index& index) { return !index.is_position() && !index.slice().start && !index.slice().stop && index.slice().step == 1; }

/// A value amid zeros, along one axis whose extent is known.
std::optional<GradientPart> gradient_part(const Variable& gradient) {
  if (!gradient.has_owner()) return std::nullopt;
  const Apply node = gradient.owner();
  const auto* op = dynamic_cast<const WriteSubtensorOp*>(&node.op());
  if (!op || op->write() != WindowWrite::kSet || !gradient.dims().is_known() || !is_zero_fill(node.input(0))) return std::nullopt;
  const std::vector<Index>& indices = op->indices();
  const auto cuts = std::count_if(indices.begin(), indices.end(), [](const Index& index) { return !is_whole_axis(index); });
  if (cuts != 1) return std::nullopt;
  GradientPart part{.value = node.input(1)};
  part.axis = static_cast<int>(std::find_if(indices.begin(), indices.end(), [](const Index& index) { return !is_whole_axis(index); }) - indices.begin());
  const Index& index = indices[static_cast<std::size_t>(part.axis)];
  const std::int64_t extent = gradient.dims()[part.axis];
  part.is_position = index.is_position();
  if (part.is_position) {
    part.first = index.position() < 0 ? index.position() + extent : index.position();
    part.count = 1;
  } else {
    if (index.slice().step != 1) return std::nullopt;
    const SlicedAxis sliced = sliced_axis(index.slice(), extent, part.axis);
    part.first = sliced.first;
    part.count = sliced.count;
  }
  Shape wanted;
  for (int axis = 0; axis < gradient.rank(); ++axis) {
    if (axis != part.axis) wanted.push_back(gradient.dims()[axis]);
    else if (!part.is_position) wanted.push_back(part.count);
  }
  return part.value.dims() == wanted ? std::optional(part) : std::nullopt;  // else it is stretched
}

/// The value with the axis that a position takes away.
Variable with_axis(const GradientPart& part, SourceLine where) {
  if (!part.is_position) return part.value;
  std::vector<int> pattern;
  for (int axis = 0; axis < part.value.rank(); ++axis) pattern.push_back(axis);
  pattern.insert(pattern.begin() + part.axis, kNewAxis);
  return dimshuffle(At(where)(part.value), pattern);
}

}  // namespace

Variable joined_parts(std::span<const Variable> gradients, SourceLine where) {
  std::vector<GradientPart> parts;
  for (const Variable& gradient : gradients) {
    const std::optional<GradientPart> part = gradient_part(gradient);
    if (!part || (!parts.empty() && part->axis != parts.front().axis)) return {};
    parts.push_back(*part);
  }
  std::sort(parts.begin(), parts.end(), [](const GradientPart& a, const GradientPart& b) { return a.first < b.first; });
  std::int64_t end = 0;
  std::vector<Variable> values;
  for (const GradientPart& part : parts) {
    if (part.first != end || part.count == 0) return {};
    end += part.count;
    values.push_back(with_axis(part, where));
  }
  if (values.size() < 2 || end != gradients.front().dims()[parts.front().axis]) return {};
  return concatenate(values, parts.front().axis, where);
}

}  // namespace damo
