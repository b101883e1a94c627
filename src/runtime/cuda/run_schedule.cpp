#include "runtime/cuda/run_schedule.hpp"

#include <algorithm>

#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

constexpr int kWordsInPieces = 32;              // registers that hold a row of pieces which neighbouring threads read beside each other
constexpr int kWordsInRuns = 64;                // registers that hold such a row
constexpr int kWordsWhereTheyLie = 16;          // registers that hold a row whose elements a thread reads one by one
constexpr std::int64_t kRunBytesInFlight = 48;  // of reads a thread, where one row is less
constexpr std::int64_t kMostRowsEach = 8, kBlocksOfRuns = 8;  // rows of a thread; blocks a multiprocessor, at least, where a thread has several
constexpr std::size_t kLeastBlocksOfRuns = 4;   // resident, by what they have in shared memory
constexpr std::int64_t kBytesOfBanks = 128;     // of shared memory: rows that are a multiple of it apart lie in the same banks

/// Bytes of a warp's run of rows of one array.
int bytes_of_run(const KernelSpec& spec, const Layout& layout, int parameter) {
  return 32 * layout.rows_each * layout.items * layout.vector * spec.element_bytes(parameter);
}

/// Whether rows lie one behind the other, without gaps.
bool lies_dense(const Geometry& geometry, std::size_t array) {
  const Shape &kept = geometry.extents, &reduced = geometry.reduced.extents;
  std::int64_t apart = 1;
  for (int axis = reduced.rank() - 1; axis >= 0; --axis) {
    if (reduced[axis] != 1 && geometry.reduced.strides[array][axis] != apart) return false;
    apart *= reduced[axis];
  }
  for (int axis = kept.rank() - 1; axis >= 0; --axis) {
    if (kept[axis] != 1 && geometry.strides[array][axis] != apart) return false;
    apart *= kept[axis];
  }
  return true;
}

}  // namespace

bool share_pieces(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = geometry.reduced.count, piece = geometry.reduced.extents[-1];
  if (spec.joins_across() || layout.reduced_rank < 2 || geometry.count < std::int64_t{32} * processors.count || length * words_of_place(spec, layout) > kWordsInPieces) return false;
  bool some = false;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (access_of(layout, i) != Access::kRow || spec.is_ordinals(i)) continue;
    if (geometry.strides[static_cast<std::size_t>(i)][-1] != piece || piece * spec.element_bytes(i) > kVectorBytes) return false;
    some = true;
  }
  if (!some) return false;
  layout.lanes = 1;
  layout.items = static_cast<int>(length / layout.vector);
  layout.whole = true;
  return true;
}

bool share_elements(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = geometry.reduced.count;
  if (spec.joins_across() || layout.ends != Ends::kAnywhere || length < 1 || geometry.count < std::int64_t{32} * processors.count || length * words_of_place(spec, layout) > kWordsWhereTheyLie) return false;
  layout.vector = 1;
  layout.lanes = 1;
  layout.items = static_cast<int>(length);
  layout.ends = Ends::kVectors;
  layout.whole = true;
  return true;
}

bool share_runs(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = geometry.reduced.count;
  if (spec.joins_across() || length < 1 || geometry.count < std::int64_t{32} * processors.count) return false;
  Layout runs = layout;
  int widest = 1, read = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    Access& access = runs.access[static_cast<std::size_t>(i)];
    if (!is_moved(access) || spec.is_ordinals(i)) continue;
    widest = std::max(widest, spec.element_bytes(i));
    if (access == Access::kEveryRow) continue;
    if (!lies_dense(geometry, static_cast<std::size_t>(i)) || length * spec.element_bytes(i) % kBytesOfBanks == 0) return false;
    access = Access::kDense;
    if (!spec.is_output(i)) read += spec.element_bytes(i);
  }
  if (read == 0 || length * words_of_place(spec, layout) > kWordsInRuns) return false;
  runs.vector = kVectorBytes / widest;
  while (length % runs.vector != 0 || (runs.reduced_rank > 1 && !has_whole_vectors(spec, layout, geometry, runs.vector))) runs.vector /= 2;
  runs.lanes = 1;
  runs.items = static_cast<int>(length / runs.vector);
  runs.whole = true;
  runs.ends = Ends::kTiles;
  const std::int64_t most = geometry.count / (std::int64_t{kThreadsOfRuns} * kBlocksOfRuns * processors.count);  // so that all multiprocessors have blocks
  runs.rows_each = static_cast<int>(std::clamp<std::int64_t>(kRunBytesInFlight / (length * read), 1, std::clamp<std::int64_t>(most, 1, kMostRowsEach)));
  if (static_cast<std::size_t>(run_bytes(spec, runs) * (kThreadsOfRuns / 32)) > processors.shared_bytes / kLeastBlocksOfRuns) return false;
  layout = runs;
  return true;
}

std::vector<int> places_of_run(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  std::vector<int> places(static_cast<std::size_t>(spec.parameter_count()), -1);
  std::vector<bool> is_free(places.size(), false);  // to an output
  int all = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (layout.access[at] != Access::kDense || spec.is_ordinals(i)) continue;
    for (int input = 0; spec.is_output(i) && input < spec.input_count() && places[at] < 0; ++input) {
      const auto from = static_cast<std::size_t>(input);
      if (!is_free[from] || spec.parameter_dtype(input) != spec.parameter_dtype(i)) continue;
      places[at] = places[from];
      is_free[from] = false;
    }
    if (places[at] >= 0) continue;
    places[at] = all;
    all += bytes_of_run(spec, layout, i);
    is_free[at] = !spec.is_output(i) && !passes.is_read_late(i);
  }
  return places;
}

int run_bytes(const KernelSpec& spec, const Layout& layout) {
  const std::vector<int> places = places_of_run(spec, layout);
  int all = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (const int place = places[static_cast<std::size_t>(i)]; place >= 0) all = std::max(all, place + bytes_of_run(spec, layout, i));
  }
  return all;
}

int width_of_runs(const KernelSpec& spec, const Layout& layout) {
  int narrowest = kVectorBytes;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (access_of(layout, i) == Access::kDense && !spec.is_ordinals(i)) narrowest = std::min(narrowest, spec.element_bytes(i));
  }
  return kVectorBytes / narrowest;
}

}  // namespace damo
