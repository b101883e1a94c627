// Parts of a tensor by position: views of them, and tensors in which a part is another one. What Python writes in brackets:
//
//   subtensor(x, {0, {1, 5}, {}})            x[0, 1:5, :]     rank one less for each position
//   subtensor(x, {{std::nullopt, std::nullopt, -1}})   x[::-1]
//   set_subtensor(x, {{2, 4}}, y)            x, but y at x[2:4]
//   inc_subtensor(x, {{2, 4}}, y)            x, with y added at x[2:4]
//
// Slices are clipped to the axis, as Python's; a position must be on it: ShapeError when the graph is built where the extent is
// known, else at the call. Negative positions and bounds count from the end. A subtensor is a view: no kernel, no memory. The
// two others are functions: x stays as it is where somebody else needs it, and is written in place where nobody does.
// See tests/ops/shape_test.cpp and
// tests/function/shape_test.cpp.
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include <damo/array.hpp>
#include <damo/variable.hpp>

namespace damo {

/// One axis' part: a position, which takes the axis away, or a slice, which keeps it. {}: the whole axis.
class Index {
 public:
  Index() = default;
  template <std::integral T>
  Index(T position) : slice_{static_cast<std::int64_t>(position), std::nullopt, 1}, is_position_(true) {}
  Index(Slice slice) : slice_(slice) {}
  Index(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) : slice_{start, stop, step} {}

  bool is_position() const { return is_position_; }
  std::int64_t position() const { return *slice_.start; }
  const Slice& slice() const { return slice_; }

 private:
  Slice slice_;
  bool is_position_ = false;
};

/// x: any dtype, at least as many axes as indices; axes beyond them are kept whole. ShapeError for more indices than axes, a step
/// of 0, and a position beyond the axis.
Variable subtensor(const Operand& x, std::span<const Index> indices);
inline Variable subtensor(const Operand& x, std::initializer_list<Index> indices) {
  return subtensor(x, std::span(indices.begin(), indices.size()));
}

/// x with y in the place of x[indices]. y: a number or a tensor that broadcasts to that part, of a dtype that x's takes in without
/// loss of kind (TypeError otherwise: cast it). Of x's type. One write of the part where x is nobody else's, else a copy of x before.
Variable set_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y);
inline Variable set_subtensor(const Operand& x, std::initializer_list<Index> indices, const Operand& y) {
  return set_subtensor(x, std::span(indices.begin(), indices.size()), y);
}
/// x with y added to x[indices]; otherwise as set_subtensor. x: not bool.
Variable inc_subtensor(const Operand& x, std::span<const Index> indices, const Operand& y);
inline Variable inc_subtensor(const Operand& x, std::initializer_list<Index> indices, const Operand& y) {
  return inc_subtensor(x, std::span(indices.begin(), indices.size()), y);
}

}  // namespace damo
