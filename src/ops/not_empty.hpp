// What has to have rows: a loss, or a mean over a minibatch, which of an empty one would be NaN without a word. The look is the host's, where shapes are bound, before
// anything runs. A reduction looks itself (ReduceOp), so that no node is in the way of those that fuse; what is computed element for element goes through not_empty.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include <damo/shape.hpp>
#include <damo/variable.hpp>

namespace damo {

struct NeededRows {
  std::string user;        // in whose name the error speaks, unless a function around it was called
  std::string of;          // what has to have the rows
  std::uint32_t axes = 0;  // bit a: axis a, along which they lie

  /// Throws ShapeError where the extent of one of the axes is 0.
  void require(const Shape& shape) const;
  /// These, unless a type with such extents tells that they are there.
  std::optional<NeededRows> to_look_at(const Shape& dims) const;
  bool operator==(const NeededRows&) const = default;
};

/// x, of which each call looks whether it has the rows, and the type at once. To kernels and gradients it is x itself: it adds nothing to a kernel's text.
Variable not_empty(const Variable& x, const NeededRows& rows, SourceLine line);

}  // namespace damo
