// Layout and Geometry: how a kernel's arrays lie in memory. The Geometry has the numbers of one call: the iteration
// space with neighbouring axes collapsed where every array allows it, and each array's strides in it. The Layout is what
// code is specialised on: rank, index width and one access class an array, never an extent. New shapes of the same
// classes bind to compiled code. See tests/runtime/kernel/layout_test.cpp.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include <damo/shape.hpp>

namespace damo {

/// How one array is read or written along the iteration space, row-major.
enum class Access : std::uint8_t {
  kScalar,      ///< one element for all
  kValue,       ///< likewise, and the element itself stands in the launch's arguments
  kDense,       ///< element i of the iteration is element i of the array
  kRow,         ///< contiguous along the last axis, any stride along the others
  kRepeat,      ///< the same element along the last axis
  kStrided,     ///< any strides
  kTransposed   ///< contiguous along Layout::tile_axis, which is not the last: goes through a tile
};

constexpr bool is_scalar(Access access) { return access == Access::kScalar || access == Access::kValue; }

struct Layout {
  int rank = 1;
  bool wide = false;   ///< 64-bit indices: some offset reaches 2^31
  bool in_place = false;  ///< an output is an input, element for element: arrays that are written may be read
  int tile_axis = -1;  ///< of kTransposed arrays; -1: none
  std::vector<Access> access;  ///< inputs, then outputs

  /// All dense, scalars or values: no coordinate is ever computed.
  bool is_flat() const;
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// "r2 dense row scalar", for logs and tests.
std::string to_string(const Layout& layout);

/// One array as the caller has it; rank at most the iteration's, aligned at the last axis.
struct ArrayLayout {
  const Shape* shape;
  const Strides* strides;
};

struct Geometry {
  Shape extents;                 ///< collapsed; rank at least 1
  std::vector<Strides> strides;  ///< for each array, 0 where it repeats
  std::int64_t count = 0;        ///< elements of the iteration

  /// arrays must broadcast to space.
  Geometry(const Shape& space, std::span<const ArrayLayout> arrays);
};

/// first_output: arrays from there on are written.
Layout classify(const Geometry& geometry, int first_output);

/// Whether code for `code` runs data of `data` at no loss worth a compile: dense as row, scalar as repeat; anything as
/// strided where count is small. The geometry must then be re-made to the code's rank.
bool serves(const Layout& code, const Layout& data, std::int64_t count);

/// Adds leading axes of extent 1 until geometry has this rank.
Geometry with_rank(Geometry geometry, int rank);

}  // namespace damo
