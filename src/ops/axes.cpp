#include <damo/axes.hpp>

#include <string>

#include <damo/error.hpp>

namespace damo {

std::uint32_t Axes::mask(int rank, std::string_view name) const {
  if (all_) return (std::uint32_t{1} << rank) - 1;
  std::uint32_t mask = 0;
  for (int axis : axes_) {
    const int real = axis < 0 ? axis + rank : axis;
    if (real < 0 || real >= rank) {
      throw ShapeError(std::string(name) + ": there is no axis " + std::to_string(axis) + " in an array of " +
                       std::to_string(rank) + " axes");
    }
    const std::uint32_t bit = std::uint32_t{1} << real;
    if (mask & bit) throw ShapeError(std::string(name) + ": axis " + std::to_string(real) + " is named twice");
    mask |= bit;
  }
  return mask;
}

}  // namespace damo
