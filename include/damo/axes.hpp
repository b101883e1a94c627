// Axes: which axes of an array an operation works along: all, one, or several. Negative ones count from the end. PadWidth: what one axis gets.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace damo {

/// sum(x, 1, keepdims): the axis stays, with extent 1.
inline constexpr bool keepdims = true;

class Axes {
 public:
  Axes() = default;  ///< all
  Axes(int axis) : axes_{axis}, all_(false) {}
  Axes(std::initializer_list<int> axes) : axes_(axes), all_(false) {}
  Axes(std::vector<int> axes) : axes_(std::move(axes)), all_(false) {}

  bool is_all() const { return all_; }
  /// Bit a for axis a. Throws ShapeError, beginning with name, for an axis that does not exist or is named twice.
  std::uint32_t mask(int rank, std::string_view name) const;

 private:
  std::vector<int> axes_;
  bool all_ = true;
};

/// How many elements pad adds along an axis.
struct PadWidth {
  std::int64_t before = 0, after = 0;
};

}  // namespace damo
