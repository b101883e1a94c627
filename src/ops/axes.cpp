#include <damo/axes.hpp>

#include <string>

#include <damo/error.hpp>
#include <damo/shape.hpp>

namespace damo {

std::uint32_t Axes::mask(int rank, std::string_view name, std::string_view owner) const {
  if (all_) return (std::uint32_t{1} << rank) - 1;
  std::uint32_t mask = 0;
  for (int axis : std::span(axes_).first(count_)) {
    const int real = normalize_axis(name, axis, rank, owner);
    const std::uint32_t bit = std::uint32_t{1} << real;
    if (mask & bit) throw ShapeError(std::string(name) + ": axis " + std::to_string(real) + " is named twice", "name each axis once");
    mask |= bit;
  }
  return mask;
}

}  // namespace damo
