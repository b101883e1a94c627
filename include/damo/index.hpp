// What Python writes in brackets: indices of subtensor, set_subtensor and inc_subtensor, for Variables (ops/subtensor.hpp) and Arrays (array_subtensor.hpp).
//
//   {0, {1, 5}, {}}                        [0, 1:5, :]
//   {{std::nullopt, std::nullopt, -1}}     [::-1]
//   {ellipsis, new_axis, {2, 4}}           [..., None, 2:4]
//   {rows, {}, columns}                    [rows, :, columns], rows and columns being integers, or bools for a mask
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <utility>

#include <damo/array.hpp>

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

/// An axis of extent 1 that x does not have.
inline constexpr struct NewAxis {
} new_axis;
/// All axes for which no index is written, whole. At most one.
inline constexpr struct Ellipsis {
} ellipsis;

enum class IndexKind : std::uint8_t { kIndex, kNewAxis, kEllipsis, kTensor };

/// An Index, a new axis, an ellipsis, or a tensor: integers, one axis' positions, or bools, a mask of as many axes as it has.
template <class Tensor>
class AnyIndex {
 public:
  AnyIndex() = default;
  template <std::integral T>
  AnyIndex(T position) : index_(position) {}
  AnyIndex(Slice slice) : index_(slice) {}
  AnyIndex(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step = 1) : index_(start, stop, step) {}
  AnyIndex(const Index& index) : index_(index) {}
  AnyIndex(NewAxis) : kind_(IndexKind::kNewAxis) {}
  AnyIndex(Ellipsis) : kind_(IndexKind::kEllipsis) {}
  AnyIndex(Tensor tensor) : kind_(IndexKind::kTensor), tensor_(std::move(tensor)) {}

  IndexKind kind() const { return kind_; }
  const Index& index() const { return index_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  IndexKind kind_ = IndexKind::kIndex;
  Index index_;
  Tensor tensor_;
};

}  // namespace damo
