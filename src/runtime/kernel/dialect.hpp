// Dialect: prints a KernelSpec as source for one kind of target and says how to launch it. Deterministic: the same spec
// and layout give the same bytes, on which the kernel cache rests. Golden texts: tests/golden/.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <damo/device.hpp>
#include <damo/kernel.hpp>
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// How one call of a kernel is divided.
struct Work {
  struct Launch {
    int entry;  ///< of entry_names
    LaunchConfig config;
  };
  std::vector<Launch> launches;
  // Of kernels that reduce.
  std::int64_t chunk = 0, chunks = 1;  ///< elements of a chunk, chunks of a row; of joins across rows chunks of the rows
  std::int64_t tile = 1;               ///< rows of a task, on a CPU; of a scan on a GPU places of a row's states
  std::size_t scratch_bytes = 0;       ///< for the values of the chunks
  std::size_t zeroed_bytes = 0;        ///< the first of them, which are 0 when the launches begin; a multiple of 8
};

/// What a GPU shares work out to.
struct Processors {
  int count = 1;    ///< multiprocessors
  int cluster = 1;  ///< blocks that may share their memory
  std::size_t shared_bytes = 48 * 1024;  ///< of a block, at most
};
Processors processors_of(const DeviceProperties& device);

/// A way to share a kernel's work out, and how long the target's model says that it takes.
struct ScheduleGuess {
  Layout layout;
  double microseconds = 0;
};

/// Elements of an only row that is gone through several times from which on every device prefers a kernel a pass (Dialect::prefers_passes): what forms kernels
/// before a device is known counts on it (ops/rewrites/fusion_reductions.cpp).
inline constexpr std::int64_t kLongRow = std::int64_t{1} << 20;

class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual std::string_view name() const = 0;
  /// The layout with what this target does not tell apart made equal.
  virtual Layout adapt(const KernelSpec&, Layout layout) const { return layout; }
  /// Of two axes that lie across each other in two arrays, places along the shorter one, from which a tile that turns them pays.
  virtual std::int64_t shortest_tile() const { return kManyPlaces; }
  /// Of a kernel that reduces nothing and turns arrays along an axis of few places: completes what classify gave with how these lie (Layout::places), where the target moves them so.
  virtual Layout lay_flat(const KernelSpec&, Layout layout, const Geometry&) const { return layout; }
  /// Of a kernel that reduces: completes what classify_reducing gave with how rows are shared out.
  virtual Layout share_rows(const KernelSpec&, Layout layout, const Geometry&, const Processors&) const { return layout; }
  /// The layout, which share_rows or adapt gave, and others that serve the same arrays with the same bits, whatever these hold. One alone: nothing is to be
  /// chosen by measuring (schedule_trial.hpp).
  virtual std::vector<ScheduleGuess> alternatives(const KernelSpec&, const Layout& layout, const Geometry&, const Processors&) const { return {{layout, 0}}; }
  /// Whether rows that are gone through several times are so few and long, or columns so long, that a kernel a pass (split_passes) is faster.
  virtual bool prefers_passes(const KernelSpec&, const Geometry&, const Processors&) const { return false; }
  /// Whether rows are so long that a spec's form which goes through them once less, joining means and variances (moments.hpp) or maxima and sums of exponentials (exponential_sums.hpp) together, is faster.
  virtual bool prefers_one_reading(const KernelSpec& /*spec*/, const KernelSpec& /*form*/, const Geometry&, const Processors&) const { return false; }
  /// Whether one kernel both goes through the rows and joins across them; else split_across.
  virtual bool joins_across(const KernelSpec&, const Geometry&, const Processors&) const { return false; }
  /// Whether one kernel both joins rows and makes their prefix joins; else split_prefixes.
  virtual bool scans_rows(const KernelSpec&, const Geometry&, const Processors&) const { return false; }
  /// Whether sums of one element of a row, which a value of the row tells, are that element, read where it lies (sought_elements.hpp).
  virtual bool seeks_elements() const { return false; }
  /// Whether what prefix joins are made of, of elements that follow from joins of rows, is better left in memory by the kernel before theirs than made again.
  virtual bool leaves_elements() const { return false; }
  /// Whether inputs of kernels that reduce are copied first where they lie across the other arrays (ops/copies_first.hpp), as nothing turns them around within such a kernel.
  virtual bool copies_first() const { return false; }
  /// Whether elementwise kernels read arrays amid a frame (framed.hpp).
  virtual bool finds_frames() const { return false; }
  /// extern "C" kernels of these names (entry_names), each taking one struct (ArgumentBlock) by value.
  virtual std::string emit(const KernelSpec& spec, const Layout& layout) const = 0;
  virtual Work work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) const = 0;
  /// Elements that one vector access moves; arrays must be aligned to that many for the fast path.
  virtual int vector_width(const KernelSpec& spec, const Layout& layout) const = 0;
  /// The layout of the text that a launch takes whose arrays do not meet the alignment of vectors; nothing where the layout's own text asks (`fast`) or has no
  /// vectors. A text for both would have each access twice, which takes time to compile, and where accesses are few and late, to run.
  virtual std::optional<Layout> unaligned(const Layout&) const { return std::nullopt; }
  /// Whether arrays of so many bytes together are better stored past the caches.
  virtual bool streams(std::size_t) const { return false; }
};

/// Of an elementwise kernel.
inline Work one_launch(const LaunchConfig& config) {
  Work work;
  work.launches.push_back({0, config});
  return work;
}

/// "damo_mul_add_tanh".
std::string entry_name(const KernelSpec& spec);
/// That, and of a kernel in chunks, or one that joins across rows, the one that joins what the blocks have.
std::vector<std::string> entry_names(const KernelSpec& spec, const Layout& layout);

}  // namespace damo
