#include <damo/ops/shape.hpp>

#include <algorithm>
#include <numeric>

#include <damo/op.hpp>
#include <damo/ops/subtensor.hpp>
#include "graph/user_line.hpp"
#include "ops/dimshuffle_op.hpp"
#include "ops/gradient_parts.hpp"

namespace damo {

Variable dimshuffle(const Operand& x, std::span<const int> pattern) {
  const Variable inputs[] = {x.as(x.promotable().dtype)};
  return std::make_shared<const DimShuffleOp>(std::vector<std::int64_t>(pattern.begin(), pattern.end()))->apply(inputs, x.where()).output();
}

Variable transpose(const Operand& x) {
  std::vector<int> pattern(static_cast<std::size_t>(x.is_number() ? 0 : x.variable().rank()));
  std::iota(pattern.rbegin(), pattern.rend(), 0);
  return dimshuffle(x, pattern);
}

Variable expand_dims(const Operand& x, int axis) {
  const int rank = x.is_number() ? 0 : x.variable().rank();
  const int at = asked("expand_dims", [&] { return normalize_axis("expand_dims", axis, rank + 1, "the result"); }, x);
  std::vector<int> pattern(static_cast<std::size_t>(rank));
  std::iota(pattern.begin(), pattern.end(), 0);
  pattern.insert(pattern.begin() + at, kNewAxis);
  return dimshuffle(x, pattern);
}

Variable squeeze(const Operand& x, const Axes& axes) {
  const Shape dims = x.is_number() ? Shape() : x.variable().dims();
  const std::uint32_t mask = asked("squeeze", [&] { return axes.mask(dims.rank(), "squeeze"); }, x);
  std::vector<int> pattern;
  for (int axis = 0; axis < dims.rank(); ++axis) {
    const bool is_asked = mask >> axis & 1u;
    asked("squeeze", [&] {
      if (is_asked && !axes.is_all()) DimShuffleOp::require_one(dims, axis);
    }, x);
    if (!is_asked || (axes.is_all() && dims[axis] != 1)) pattern.push_back(axis);
  }
  return dimshuffle(x, pattern);
}

Variable swap_axes(const Operand& x, int a, int b) {
  const int rank = x.is_number() ? 0 : x.variable().rank();
  std::vector<int> pattern(static_cast<std::size_t>(rank));
  std::iota(pattern.begin(), pattern.end(), 0);
  asked("swap_axes", [&] { std::swap(pattern[static_cast<std::size_t>(normalize_axis("swap_axes", a, rank))], pattern[static_cast<std::size_t>(normalize_axis("swap_axes", b, rank))]); }, x);
  return dimshuffle(x, pattern);
}

Variable flip(const Operand& x, const Axes& axes) {
  const int rank = x.is_number() ? 0 : x.variable().rank();
  const std::uint32_t mask = asked("flip", [&] { return axes.mask(rank, "flip"); }, x);
  std::vector<Index> indices(static_cast<std::size_t>(rank));
  for (int axis = 0; axis < rank; ++axis) {
    if (mask >> axis & 1u) indices[static_cast<std::size_t>(axis)] = Index(std::nullopt, std::nullopt, -1);
  }
  return subtensor(x, indices);
}

Variable tile(const Operand& x, std::span<const std::int64_t> counts) {
  return asked("tile", [&] {
    const Shape dims = x.is_number() ? Shape() : x.variable().dims();
    // x: (a, b). Each axis gets one of its own for the count, (1, a, 1, b), which stretches; then the pairs become one.
    const int rank = std::max(dims.rank(), static_cast<int>(counts.size()));
    std::vector<int> pattern;
    Shape stretched;
    for (int axis = 0; axis < rank; ++axis) {
      const int of_x = axis - (rank - dims.rank()), of_counts = axis - (rank - static_cast<int>(counts.size()));
      const std::int64_t count = of_counts < 0 ? 1 : counts[static_cast<std::size_t>(of_counts)];
      if (count < 0) throw ShapeError("tile: a count is " + std::to_string(count), "counts are 0 or more");
      pattern.push_back(kNewAxis);
      pattern.push_back(of_x < 0 ? kNewAxis : of_x);
      stretched.push_back(count);
      stretched.push_back(of_x < 0 ? 1 : -1);
    }
    const SourceLine line = x.where();
    Variable tiled = broadcast_to(At(line)(dimshuffle(x, pattern)), stretched);
    for (int axis = 0; axis < rank; ++axis) tiled = flatten(At(line)(tiled), axis, axis + 1);
    return tiled;
  }, x);
}

Variable repeat(const Operand& x, std::int64_t count, int axis) {
  return asked("repeat", [&] {
    if (count < 0) throw ShapeError("repeat: the count is " + std::to_string(count), "it is 0 or more");
    const int rank = x.is_number() ? 0 : x.variable().rank(), at = normalize_axis("repeat", axis, rank);
    Shape stretched = Shape::filled(rank + 1, -1);
    stretched[at + 1] = count;
    const SourceLine line = x.where();
    return flatten(At(line)(broadcast_to(At(line)(expand_dims(x, at + 1)), stretched)), at, at + 1);
  }, x);
}

}  // namespace damo
