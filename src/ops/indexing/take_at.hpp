// What is at positions, and x with something else there: what take, subtensor by tensors and by masks, and their writes come down to. positions:
// checked_positions of `axes` axes of x from `axis` on, in whose place theirs stand in the result (walks.hpp).
#pragma once
#include <string>

#include <damo/variable.hpp>
#include "ops/indexing/walks.hpp"

namespace damo {

/// Strided: elements are found where x lies; else x is put in C order before, and slices are read. The gradient sorts the positions, adds in their order and
/// writes each element of x's shape once.
Variable take_at(const Variable& x, const Variable& positions, int axis, int axes, SourceLine line, bool strided = false);
/// The same where no two positions are equal, which lets the gradient do without sums. user: in whose name errors of the gradient speak.
Variable take_once_at(const Variable& x, const Variable& positions, int axis, int axes, const std::string& user, SourceLine line);

struct WriteForm {
  std::string user;  ///< in whose name errors speak
  ScatterKind kind;
  int axis, axes;
};
/// Whether positions may be equal: then they are sorted, the last one's slice is what is set, and all are added in their order.
enum class Repeats : bool { kNone, kMay };

/// x with y at the positions, in x's memory where nobody else needs it. y: of x's dtype; broadcasts to what is taken there, stretching where its type says 1.
Variable write_at(const WriteForm& form, const Variable& x, const Variable& positions, const Variable& y, Repeats repeats, SourceLine line);

}  // namespace damo
