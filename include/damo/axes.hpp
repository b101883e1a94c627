// Axes: which axes of an array an operation works along: all, one, or several. Negative ones count from the end. PadWidth: what one axis gets.
// ScanOptions: which way a scan goes.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include <damo/shape.hpp>

namespace damo {

/// A new axis of extent 1 in a pattern of dimshuffle.
inline constexpr int kNewAxis = -1;

/// sum(x, 1, keepdims): the axis stays, with extent 1.
inline constexpr bool keepdims = true;

class Axes {
 public:
  Axes() = default;  ///< all
  Axes(int axis) : Axes(std::span(&axis, 1)) {}
  Axes(std::initializer_list<int> axes) : Axes(std::span(axes.begin(), axes.size())) {}
  Axes(const std::vector<int>& axes) : Axes(std::span(axes)) {}

  bool is_all() const { return all_; }
  /// Bit a for axis a. Throws ShapeError, beginning with name and saying what owner has (normalize_axis), for an axis that does not exist or is named twice.
  std::uint32_t mask(int rank, std::string_view name, std::string_view owner = "x") const;

 private:
  static constexpr std::size_t kMost = kMaxRank + 1;  // of so many one does not exist or is named twice, whatever follows
  explicit Axes(std::span<const int> axes) : count_(std::min(axes.size(), kMost)), all_(false) { std::copy_n(axes.begin(), count_, axes_.begin()); }

  std::array<int, kMost> axes_{};
  std::size_t count_ = 0;
  bool all_ = true;
};

/// Of cummax and cummin; of what adds or multiplies: CumulativeOptions (reduce_options.hpp).
struct ScanOptions {
  bool reverse = false;    ///< from the last element to the first
  bool exclusive = false;  ///< each element gets what stands before it, without its own
  friend bool operator==(const ScanOptions&, const ScanOptions&) = default;
};

/// How many elements pad adds along an axis.
struct PadWidth {
  std::int64_t before = 0, after = 0;
};

}  // namespace damo
