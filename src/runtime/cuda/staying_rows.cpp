#include "runtime/cuda/staying_rows.hpp"

#include <algorithm>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/row_holders.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

constexpr std::int64_t kLeastSteady = 64;                                               // elements of a row, of which an array beside those that are read ahead has one: then its bytes are few, wherever they come from
constexpr std::size_t kSharedOfHeldRows = 128 * 1024, kSharedOfHeldShorts = 96 * 1024;  // bytes of arrays which all rows share, which the first-level cache has for a block that holds its rows, and for one of rows of 16-bit floats
constexpr int kBytesFetched = 8;                                                        // at least: smaller pieces of a row take more instructions to ask for than they spare

/// Whether any pass reads the input element by element.
bool is_wanted(const KernelSpec& spec, int input) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  return std::any_of(passes.all().begin(), passes.all().end(), [input](const Passes::Pass& pass) { return std::find(pass.inputs.begin(), pass.inputs.end(), input) != pass.inputs.end(); });
}

/// Bytes of a row of the arrays that all rows share.
std::size_t shared_by_rows(const KernelSpec& spec, const Layout& layout, std::int64_t length) {
  std::size_t bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) bytes += access_of(layout, i) == Access::kEveryRow ? static_cast<std::size_t>(length * spec.element_bytes(i)) : 0;
  return bytes;
}

/// Whether a block that stays has the array without reading its rows ahead: it has few elements of a row, or lies in shared memory from the first row on.
bool is_beside(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int input) {
  if (access_of(layout, input) == Access::kSteady) return geometry.reduced.extents[-1] >= kLeastSteady;
  const std::vector<int> shared = arrays_shared(spec, layout);
  return std::find(shared.begin(), shared.end(), input) != shared.end();
}

}  // namespace

std::size_t ahead_bytes(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i : arrays_ahead(spec, layout)) bytes += spec.element_bytes(i);
  return static_cast<std::size_t>(reducing_block(layout) * layout.items * layout.vector * bytes);
}

std::vector<int> arrays_ahead(const KernelSpec& spec, const Layout& layout) {
  std::vector<int> arrays;
  const Passes passes(spec, [](int, const Passes&) { return true; });
  for (int i = 0; i < spec.input_count(); ++i) {
    const bool is_held = layout.beside > 0 ? !passes.is_read_late(i) : lies_along_row(layout, i);
    if (is_held && access_of(layout, i) == Access::kRow && !spec.is_ordinals(i) && is_wanted(spec, i)) arrays.push_back(i);
  }
  return arrays;
}

std::vector<int> arrays_shared(const KernelSpec& spec, const Layout& layout) {
  std::vector<int> arrays;
  if (layout.ahead == 0 || layout.beside > 0 || spec.joins_across() || layout.ends == Ends::kAnywhere) return arrays;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (access_of(layout, i) == Access::kEveryRow && lies_along_row(layout, i) && !spec.is_ordinals(i) && is_wanted(spec, i)) arrays.push_back(i);
  }
  return arrays;
}

std::size_t shared_bytes_of_rows(const KernelSpec& spec, const Layout& layout) {
  std::size_t bytes = 0;
  for (int i : arrays_shared(spec, layout)) bytes += static_cast<std::size_t>(layout.lanes * layout.items * layout.vector * spec.element_bytes(i));
  return bytes;
}

bool are_small(const KernelSpec& spec, const Layout& layout, const std::vector<int>& arrays) {
  return std::any_of(arrays.begin(), arrays.end(), [&](int i) { return layout.vector * spec.element_bytes(i) < kBytesFetched; });
}

void stay(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = geometry.reduced.count;
  Layout stays = layout;
  stays.ahead = 1;
  const std::vector<int> arrays = arrays_ahead(spec, stays);
  std::size_t read = 0, beside = 0;  // arrays, element by element
  for (int i = 0; i < spec.input_count(); ++i) {
    read += !is_scalar(access_of(layout, i)) && !spec.is_row(i);
    beside += is_moved(access_of(layout, i)) && is_beside(spec, stays, geometry, i);
  }
  // Of 16-bit floats one block a multiprocessor has too little on its way, and one that holds a row waits for what rows share where the first-level cache has no room for it.
  const bool is_short = bytes_read(spec, layout) < 4;
  const std::size_t shared = shared_by_rows(spec, layout, length);
  const bool waits = layout.cluster > 1 || (layout.residents == 1 && (shared == 0 ? is_short : shared > (is_short ? kSharedOfHeldShorts : kSharedOfHeldRows)));
  if (!waits || arrays.empty() || (layout.reduced_rank > 1 && are_small(spec, layout, arrays)) || arrays.size() + beside != read || arrays.size() > kMostArraysAhead || spec.users_text || !writes_elements(spec)) return;
  const std::int64_t before = layout.ends == Ends::kAnywhere ? kLineBytes / spec.element_bytes(arrays[0]) - 1 : 0;  // elements of the row's first line, at most
  const std::int64_t vectors = divide_up(length + before, layout.vector), most = kMostWordsHeld / (words_wanted_again(spec, stays) * layout.vector);
  stays.lanes = kMostLanes;
  stays.residents = 1;
  for (stays.cluster = 1; stays.cluster <= processors.cluster; stays.cluster *= 2) {
    stays.items = static_cast<int>(divide_up(vectors, kMostLanes * stays.cluster));
    const std::size_t taken = kSharedOfMeetings + partial_bytes(spec) * static_cast<std::size_t>(kMostLanes / 32 + 2 * stays.cluster) + shared_bytes_of_rows(spec, stays);
    const std::size_t room = processors.shared_bytes - std::min(processors.shared_bytes, taken), rows = room / ahead_bytes(spec, stays);
    if (stays.items > most || (rows == 0 && shared > 0)) continue;  // a larger cluster's blocks have less of what rows share
    stays.ahead = static_cast<int>(std::min<std::size_t>(rows, kMostAhead));
    if (rows > 0 && geometry.count * stays.cluster >= kRowsToStay * processors.count) layout = stays;
    return;
  }
}

}  // namespace damo
