// put_along_axis: x with another element at each position along an axis: a write at places that are counted through all axes, of which positions say one
// and the positions' own places the others.
#include <memory>
#include <string>

#include <damo/axes.hpp>
#include <damo/ops/indexing.hpp>
#include "graph/user_line.hpp"
#include "ops/checked_shapes_op.hpp"
#include "ops/index_along_op.hpp"
#include "ops/indexing/positions.hpp"
#include "ops/indexing/take_at.hpp"
#include "ops/subtensor_op.hpp"

namespace damo {
namespace {

/// Positions, whose second input is x: their lines are x's.
class LinesOp final : public CheckedShapesOp {
 public:
  explicit LinesOp(int axis) : axis_(axis) {}
  std::string name() const override { return "lines"; }
  Props props() const override { return {{"axis", std::int64_t{axis_}}}; }
  void require(std::span<const Shape> shapes) const override { static_cast<void>(positions_in_lines("put_along_axis", shapes[1], shapes[0], axis_)); }

 private:
  int axis_;
};

}  // namespace

Variable put_along_axis(const Operand& x, const Operand& positions, const Operand& values, int axis) {
  return asked("put_along_axis", [&] {
    const std::string user = "put_along_axis";
    const SourceLine line = x.where();
    const Variable to = x.as(x.promotable().dtype), given = positions.as(positions.promotable().dtype);
    const int along = normalize_axis(user, axis, to.rank()), behind = to.rank() - along - 1;
    const Variable checked[] = {given, to}, at = checked_shapes(std::make_shared<const LinesOp>(along), checked, line);
    const std::uint32_t axes_before = (std::uint32_t{1} << along) - 1, axes_behind = ((std::uint32_t{1} << behind) - 1) << (along + 1);
    const Variable before = along == 0 ? Variable() : places_along(at, axes_before, line);
    Variable places = checked_positions(user, to, along, at, line, CountsFromEnd::kYes, 1, before);
    if (behind > 0) places = checked_positions(user, to, along + 1, places_along(at, axes_behind, line), line, CountsFromEnd::kYes, behind, places);
    return write_at({user, ScatterKind::kSet, 0, to.rank()}, to, places, written_value(user, to, values, line), Repeats::kMay, line);
  }, x, positions, values);
}

}  // namespace damo
