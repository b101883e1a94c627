// The diagonal of two axes, as a view: einsum's repeated letters. Numbers of diagonals.
#pragma once
#include <algorithm>
#include <cstdint>

#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// Axes a < b, of one extent, become one in a's place. Throws ShapeError if their extents differ.
Variable diagonal(const Variable& x, int a, int b, SourceLine line);

/// The number of a diagonal, to which the number of a row can be added: one that is beyond every matrix is so however far it is.
inline std::int64_t near_diagonal(std::int64_t number) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  return std::clamp(number, -kFar, kFar);
}

}  // namespace damo
