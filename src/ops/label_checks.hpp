// Which labels cross_entropy takes, of Variables and of Arrays.
#pragma once
#include <string>

#include <damo/dtype.hpp>
#include <damo/error.hpp>
#include "graph/base/counted.hpp"

namespace damo {

/// Throws unless labels of that dtype and rank, described so, are one for each row of logits of that rank. converted: the call that makes integers of them.
inline void require_labels(DType dtype, int rank, int logits, const std::string& described, const char* converted) {
  if (!is_integer(dtype)) throw TypeError("cross_entropy: labels are integers, or probabilities with the axes of the logits, not " + described, converted);
  if (rank == logits - 1) return;
  throw ShapeError("cross_entropy: logits have " + counted_axes(logits) + ", so labels have " + std::to_string(logits - 1) + ", not " + std::to_string(rank), "give a label for each row of logits");
}

}  // namespace damo
