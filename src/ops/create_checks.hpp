// What functions that make tensors refuse, of Variables and of Arrays.
#pragma once
#include <cstdint>
#include <string>

#include <damo/error.hpp>
#include "graph/base/counted.hpp"

namespace damo {

/// Throws ShapeError, in that name, unless x has as many axes.
inline void require_axes(const std::string& function, int have, int wanted) {
  if (have == wanted) return;
  const std::string remedy = wanted == 2 ? "give a matrix" : have == 2 ? "diagonal takes it out of a matrix" : "flatten it";
  throw ShapeError(function + ": x has " + counted_axes(have) + ", not " + std::to_string(wanted), remedy);
}

/// Throws ShapeError for fewer than no numbers.
inline void require_linspace_count(std::int64_t count) {
  if (count < 0) throw ShapeError("linspace: " + std::to_string(count) + " numbers cannot be made", "give a count of 0 or more");
}

}  // namespace damo
