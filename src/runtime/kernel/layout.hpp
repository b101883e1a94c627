// Layout and Geometry: how a kernel's arrays lie in memory. The Geometry has the numbers of one call: the iteration
// space with neighbouring axes collapsed where every array allows it, and each array's strides in it. The Layout is what
// code is specialised on: rank, index width and one access class an array, never an extent. New shapes of the same
// classes bind to compiled code. A kernel that reduces has kept and reduced axes, which never collapse into each other.
// An array may be taken: its slices lie where positions in memory say (TakenLayout). Which kernels find them there: taken.hpp.
// An array may be framed: it lies amid places that all have one value (FrameLayout). Which kernels read it so: framed.hpp.
// See tests/runtime/kernel/layout_test.cpp.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <damo/dtype.hpp>
#include <damo/shape.hpp>

namespace damo {

/// Of positive numbers.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

/// How one array is read or written along the iteration space, row-major.
enum class Access : std::uint8_t {
  kScalar,      ///< one element for all
  kValue,       ///< likewise, and the element itself stands in the launch's arguments
  kDense,       ///< element i of the iteration is element i of the array; of rows that are reduced: they lie one behind the other
  kRow,         ///< contiguous along the last axis, any stride along the others
  kRepeat,      ///< the same element along the last axis
  kStrided,     ///< any strides
  kTransposed,  ///< contiguous along Layout::tile_axis, which is not the last, or along rows that are turned: goes through a tile
  kEveryRow,    ///< of rows that are reduced: contiguous along the row and the same for all of them, so worth a cache
  kSteady,      ///< of kernels that reduce: the same element along the innermost axis, of rows the reduced one and of columns the kept one, and others along the rest
  kInterleaved  ///< strided, as one of a few arrays whose elements take turns in one piece of memory (interleaved.hpp)
};

constexpr bool is_scalar(Access access) { return access == Access::kScalar || access == Access::kValue; }

/// How a kernel goes over its space.
enum class Form : std::uint8_t {
  kElements,  ///< reduces nothing
  kRows,      ///< neighbours in memory are reduced together
  kColumns    ///< neighbours in memory belong to neighbouring rows
};

/// Where rows of a kernel that reduces end, for what their threads read at a time.
enum class Ends : std::uint8_t {
  kAnywhere,  ///< rows begin and end within a vector
  kVectors,   ///< rows are whole vectors
  kTiles      ///< rows fill the vectors of all threads, each time: nothing is asked
};

/// Of a kernel's array: it is framed along these of the collapsed axes, bit k the k-th from the last.
struct FramedArray {
  int array = 0;
  std::uint32_t axes = 0;
  friend bool operator==(const FramedArray&, const FramedArray&) = default;
};

struct Layout {
  int rank = 1;        ///< of the kept axes
  bool wide = false;   ///< 64-bit indices: some offset reaches 2^31
  bool in_place = false;  ///< an output is an input, element for element: arrays that are written may be read
  bool joined = false;    ///< one launch for many members, see joined_kernel.hpp; flat only
  int tile_axis = -1;  ///< of kTransposed arrays; -1: none
  int tile_inner = 0, tile_other = 0;  ///< of few places along the last axis, or along tile_axis: the power of 2 that holds them; 0: many
  int places = 0;                      ///< of a tile that is flat (cuda/flat_schedule.hpp, where `access`, `vector` and `items` are told): places along the axis of few; 0: not in this form
  int tiling = 0;              ///< with such an axis: which of the target's tiles; 0: the one that its model takes
  std::vector<Access> access;  ///< inputs, then outputs
  std::vector<int> taken;      ///< those that are taken, ascending; their access is that of a slice
  std::vector<FramedArray> framed;  ///< by ascending array
  std::vector<int> digits;     ///< binary digits that hold the integers which a launch brings, in the order of short_integers.hpp; empty: any
  std::vector<int> unbroken;   ///< of rows of several reduced axes, ascending: those in which a row's elements lie one behind the other along all of them
  // Of kernels that reduce. kRow: contiguous along the innermost reduced axis, of columns the innermost kept one;
  // kRepeat: one element a row.
  Form form = Form::kElements;
  int reduced_rank = 0;
  int lanes = 1;         ///< threads that share a row; on a CPU partial values side by side
  int items = 1;         ///< vectors of a thread at a time
  int vector = 1;        ///< elements of a vector: of a row, or of neighbouring columns
  int cluster = 1;       ///< blocks that share a row
  int beside = 0;        ///< neighbouring rows that a block's neighbouring threads hold together as a tile, or of rows in pieces read together (cuda/reducing_schedule.hpp); 0: not in this form
  int residents = 0;     ///< blocks that a multiprocessor is to hold at once; 0: as it comes
  int rows_each = 0;     ///< whole rows of a thread, one after the other, out of a run that its warp moves through shared memory (Access::kDense); 0: lanes share rows
  int ahead = 0;         ///< rows that blocks which stay have on their way to shared memory; 0: a block, or a cluster, has one row
  Ends ends = Ends::kAnywhere;
  bool whole = false;    ///< lanes and items hold a row, which is then read once; on a CPU an array of the task holds its values
  bool turned = false;   ///< of columns, on a CPU: short rows that are gone through as columns are; kTransposed arrays, contiguous along the row, go through tiles
  bool pieces = false;   ///< of columns, on a CPU: rows are short pieces beside each other, whose elements along the last reduced axis are columns that are joined
  bool staged = false;   ///< of a scan: inputs wait in shared memory, not in registers, and are joined twice (cuda/scan_emitter.hpp)
  bool chunked = false;  ///< rows are cut into chunks, whose values a second launch joins
  bool batched = false;  ///< of joins across rows: not over all of them, but over Geometry::joined neighbouring ones
  bool aligned = true;   ///< arrays meet the alignment of vectors; see Dialect::unaligned

  /// All dense, scalars or values: no coordinate is ever computed.
  bool is_flat() const;
  bool is_taken(int parameter) const { return std::find(taken.begin(), taken.end(), parameter) != taken.end(); }
  /// Null: the array is not framed.
  const FramedArray* frame_of(int parameter) const {
    const auto found = std::find_if(framed.begin(), framed.end(), [&](const FramedArray& frame) { return frame.array == parameter; });
    return found == framed.end() ? nullptr : &*found;
  }
  bool is_unbroken(int parameter) const { return std::find(unbroken.begin(), unbroken.end(), parameter) != unbroken.end(); }
  friend bool operator==(const Layout&, const Layout&) = default;
};

/// "r2 dense row scalar", for logs and tests.
std::string to_string(const Layout& layout);

/// Where the slices of an array lie that is taken from another one: that of position p lies p * apart elements behind the first one's. Positions are int64 and none is beyond the array.
struct TakenLayout {
  Shape shape;             ///< of the positions, aligned with the taken array's last axis: 1 along the slices' axes
  Strides strides;
  std::int64_t apart = 0;
  std::int64_t extent = 0; ///< positions that there are
};

/// An array amid places that all have one value, as `pad` puts it. The space has as many places as both along each axis that has some before or behind it.
struct FrameLayout {
  Strides before;          ///< places before its first element, along each of its axes
  Shape extents;           ///< its own, without these places
  std::uint64_t bits = 0;  ///< of the value, in the first bytes
};

/// One array as the caller has it; rank at most the iteration's, aligned at the last axis.
struct ArrayLayout {
  const Shape* shape;                  ///< of a framed array with its frame
  const Strides* strides;              ///< of a taken array 0 along the axes of its positions
  const TakenLayout* taken = nullptr;  ///< null: the array is not
  const FrameLayout* frame = nullptr;  ///< null: there is none
};

/// As byte_range(): what a kernel may read or write of the array, from its pointer on.
struct ByteRange range_of(const ArrayLayout& array, std::size_t item_bytes);

/// Neighbouring axes as one, where every array allows it.
struct CollapsedAxes {
  Shape extents;                 ///< rank at least 1
  std::vector<Strides> strides;  ///< for each array, 0 where it repeats
  std::int64_t count = 1;        ///< points
};

/// Of an array that is taken.
struct TakenAxes {
  int array;
  std::int64_t apart;
  Strides kept, reduced;  ///< of its positions
};

/// Of an array that is framed: along each kept axis the places before it and its own extent; 0 and 0 where it has no frame. Axes with one collapse with no other.
struct FramedAxes : FramedArray {
  Strides before, extents;
  std::uint64_t bits = 0;
};

struct Geometry : CollapsedAxes {  // of the axes that are kept
  CollapsedAxes reduced;
  std::vector<TakenAxes> taken;    ///< by ascending array
  std::vector<FramedAxes> framed;  ///< likewise; of spaces without reduced axes
  std::int64_t longest_table = 0;  ///< elements of the largest array that is read at places which steps compute (KernelSpec::tables)
  std::int64_t joined = 1;       ///< neighbouring rows that are joined across together: all where nothing tells them apart

  /// arrays must broadcast to space; bit a of reduced_axes: axis a. The reduced axes come in the order of memory, unless
  /// their order matters (in_order). across: arrays that have what is joined across rows. Kept axes along which they move come first, so that rows which are joined together are neighbours:
  /// rows then have another order than the space.
  Geometry(const Shape& space, std::span<const ArrayLayout> arrays, std::uint32_t reduced_axes = 0, bool in_order = false, std::span<const int> across = {});
};

inline constexpr std::int64_t kManyPlaces = 16;  ///< along an axis: with fewer a tile that turns arrays is of another shape
/// first_output: arrays from there on are written. shortest_tile: places along either axis of a tile, from which the target gains by it (Dialect::shortest_tile).
Layout classify(const Geometry& geometry, int first_output, std::int64_t shortest_tile = kManyPlaces);
/// Of a kernel that reduces: form, ranks, width and access; the rest is the target's choice (Dialect::adapt).
Layout classify_reducing(const Geometry& geometry);
/// Of the first `inputs` arrays those that all of several rows share become Access::kEveryRow: they stay in the caches.
void mark_every_row(Layout& layout, const Geometry& geometry, int inputs);
/// Of the first `inputs` arrays those that repeat along the innermost axis become Access::kSteady, for a target whose text reads them once there.
void mark_steady(Layout& layout, const Geometry& geometry, int inputs);

/// Of rows of several reduced axes those arrays whose elements lie one behind the other become Layout::unbroken, for a target whose text then finds them without places along each axis. One array that
/// lies otherwise keeps the axes of all from collapsing: the weights of a group norm, which each channel has one of.
void mark_unbroken(Layout& layout, const Geometry& geometry);

/// Whether code for `code` runs data of `data` at no loss worth a compile: dense as row, scalar as repeat; anything as
/// strided where count is small. The geometry must then be re-made to the code's rank.
bool serves(const Layout& code, const Layout& data, std::int64_t count);

/// Adds leading axes of extent 1 until geometry has this rank.
Geometry with_rank(Geometry geometry, int rank);

}  // namespace damo
