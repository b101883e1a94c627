// Shape: the extents of an array, outermost first, at most kMaxRank of them, stored inline. Strides are counted in
// elements. In a TensorType an extent may be kUnknown. Broadcasting is NumPy's: shapes are aligned at the last axis,
// and an extent of 1 stretches; in a graph one that is known to be 1 when it is built. See tests/graph/base/shape_test.cpp.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace damo {

inline constexpr int kMaxRank = 16;
inline constexpr std::int64_t kUnknown = -1;

class Shape {
 public:
  Shape() = default;
  /// Only the extents that there are: arrays change hands at every call.
  Shape(const Shape& other) : rank_(other.rank_) { copy_extents(other); }
  Shape& operator=(const Shape& other) {
    rank_ = other.rank_;
    copy_extents(other);
    return *this;
  }
  Shape(std::initializer_list<std::int64_t> extents);
  /// Throws ShapeError above kMaxRank.
  explicit Shape(std::span<const std::int64_t> extents);
  /// rank axes of the same extent.
  static Shape filled(int rank, std::int64_t extent);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  /// axis counts from the end when negative; not checked.
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  std::int64_t& operator[](int axis) { return extents_[static_cast<std::size_t>(axis < 0 ? axis + rank_ : axis)]; }
  const std::int64_t* begin() const { return extents_.data(); }
  const std::int64_t* end() const { return extents_.data() + rank_; }
  std::int64_t* begin() { return extents_.data(); }
  std::int64_t* end() { return extents_.data() + rank_; }

  /// Throws ShapeError above kMaxRank.
  void push_back(std::int64_t extent);
  void insert(int axis, std::int64_t extent);
  void erase(int axis);

  /// Product of the extents, 1 for rank 0. Every extent must be known. Throws ShapeError past 2^63.
  std::int64_t size() const;
  bool is_known() const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i) {
      if (a[i] != b[i]) return false;
    }
    return true;
  }

 private:
  void copy_extents(const Shape& other) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(rank_); ++i) extents_[i] = other.extents_[i];
  }

  std::int8_t rank_ = 0;
  std::array<std::int64_t, kMaxRank> extents_;  // only the first rank_ have values
};

/// Elements between neighbours along each axis.
using Strides = Shape;

/// "(3, 4)", "(5,)", "()"; an unknown extent prints as "?".
std::string to_string(const Shape& shape);

/// C order: the last axis varies fastest.
Strides contiguous_strides(const Shape& shape);
/// Axes of extent 1 and arrays without elements fit any stride.
bool is_contiguous(const Shape& shape, const Strides& strides);

/// The common shape; a known extent beats kUnknown, 1 yields to anything. Throws ShapeError naming the axis.
Shape broadcast_shapes(std::span<const Shape> shapes);
/// The common shape of values of a graph: 1 yields only where the Variable's type says 1, so that the graph alone tells what stretches. dims:
/// of the types. Throws ShapeError naming the axis, and what to declare where NumPy would stretch it.
Shape broadcast_values(std::span<const Shape> dims, std::span<const Shape> shapes);
/// axis in [-rank, rank) as [0, rank). Throws ShapeError: "<function>: axis 3 does not exist: <owner> has 2 axes", with the axes that do.
int normalize_axis(std::string_view function, int axis, int rank, std::string_view owner = "x");

}  // namespace damo
