#include "runtime/cuda/staying_rows.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/row_holders.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

constexpr std::int64_t kLeastSteady = 64;                                               // elements of a row, of which an array beside those that are read ahead has one: then its bytes are few, wherever they come from
constexpr std::size_t kSharedOfHeldRows = 128 * 1024, kSharedOfHeldShorts = 96 * 1024;  // bytes of arrays which all rows share, which the first-level cache has for a block that holds its rows, and for one of rows of 16-bit floats
constexpr int kThreadsAhead = 512, kLeastLanesAhead = 64;                               // of a multiprocessor whose blocks join across rows and read ahead, and of such a block
constexpr int kElementsAhead = 16;                                                      // of a row, of such a thread: more where kThreadsAhead lanes do not hold the row so
constexpr int kWordsAhead = 80;                                                         // registers of such a thread for what it holds of its row and from row to row, where it holds what rows share
constexpr int kMostWordsAhead = 104;                                                    // likewise where some of that lies in shared memory, with those of a vector that is joined
constexpr int kWordsOfTwoShorts = 128;                                                  // of two 16-bit arrays that a thread of kLanesAlone has as pairs in half as many registers, where one block is resident
constexpr int kBytesFetched = 8;                                                        // at least: smaller pieces of a row take more instructions to ask for than they spare

/// Blocks that stay: their threads, how many of them a multiprocessor has, and registers of a thread for a row's elements.
struct Stayers {
  int lanes, residents, words;
};
constexpr Stayers kStayers[] = {{kLanesAlone, 1, 2 * kMostWordsHeld}};
constexpr Stayers kStayersOfAllThreads[] = {{kMostLanes, 1, kMostWordsHeld}};
constexpr Stayers kStayersOfTwoShorts[] = {{kLanesAlone, 2, kMostWordsHeld}, {kLanesAlone, 1, kWordsOfTwoShorts}};

/// Whether elements of all these inputs are 16-bit floats.
bool are_short(const KernelSpec& spec, const std::vector<int>& inputs) {
  return std::all_of(inputs.begin(), inputs.end(), [&](int i) { return spec.element_bytes(i) == 2; });
}

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

/// Accumulators of joins across rows, in their order.
std::vector<int> joined_across(const KernelSpec& spec) {
  std::vector<int> joins;
  const Passes passes(spec, [](int, const Passes&) { return true; });
  for (const Passes::Pass& pass : passes.all()) joins.insert(joins.end(), pass.across.begin(), pass.across.end());
  return joins;
}

/// Registers, times four, that an element takes of a block that joins across rows and reads ahead: of its row, of each join across rows, and of what rows share where that is held so.
int bytes_ahead_across(const KernelSpec& spec, const Layout& layout, bool holds_shared) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  const std::vector<int> arrays = arrays_ahead(spec, layout);
  int bytes = static_cast<int>(across_bytes(spec));
  for (int i = 0; i < spec.input_count(); ++i) {
    const bool is_shared = access_of(layout, i) == Access::kEveryRow, is_ahead = std::find(arrays.begin(), arrays.end(), i) != arrays.end();
    const bool holds = is_shared ? holds_shared : is_ahead || !passes.is_read_late(i);
    if (is_moved(access_of(layout, i)) && holds) bytes += spec.element_bytes(i);
  }
  std::size_t kept = 0;
  for (const Passes::Pass& pass : passes.all()) kept = std::max(kept, pass.kept.size());
  return bytes + static_cast<int>(kept) * 4;
}

/// Whether such a block's threads have registers for what rows share, too.
bool holds_shared_across(const KernelSpec& spec, const Layout& layout) { return layout.items * layout.vector * bytes_ahead_across(spec, layout, true) <= 4 * kWordsAhead; }

/// Registers of such a thread where what rows share lies in shared memory, as do so many of the joins across rows.
int words_ahead_across(const KernelSpec& spec, const Layout& layout, std::size_t in_shared) {
  int bytes = bytes_ahead_across(spec, layout, false);
  const std::vector<int> joins = joined_across(spec);
  for (std::size_t i = joins.size() - in_shared; i < joins.size(); ++i) bytes -= spec.step_of(joins[i]).join->bytes;
  return layout.items * layout.vector * bytes / 4 + layout.vector * most_joined_words(spec);
}

/// Whether blocks of these threads hold that many vectors of a row, each thread as many as the others.
bool has_no_gaps(const Stayers& stayers, int cluster, std::int64_t vectors, int words) {
  const std::int64_t threads = std::int64_t{stayers.lanes} * cluster;
  return vectors % threads == 0 && vectors / threads * words <= stayers.words;
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
  if (layout.ahead == 0 || layout.beside > 0 || layout.ends == Ends::kAnywhere || (spec.joins_across() && holds_shared_across(spec, layout))) return arrays;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (access_of(layout, i) == Access::kEveryRow && lies_along_row(layout, i) && !spec.is_ordinals(i) && is_wanted(spec, i)) arrays.push_back(i);
  }
  return arrays;
}

std::vector<int> joins_shared(const KernelSpec& spec, const Layout& layout) {
  if (layout.ahead == 0 || layout.beside > 0 || !spec.joins_across() || holds_shared_across(spec, layout)) return {};
  const std::vector<int> joins = joined_across(spec);
  std::size_t many = 0;
  while (many < joins.size() && words_ahead_across(spec, layout, many) > kMostWordsAhead) ++many;
  return {joins.end() - static_cast<std::ptrdiff_t>(many), joins.end()};
}

std::size_t shared_bytes_of_rows(const KernelSpec& spec, const Layout& layout) {
  std::size_t bytes = 0;
  const auto add = [&](int of_element) { bytes += static_cast<std::size_t>(layout.lanes * layout.items * layout.vector * of_element); };
  for (int i : arrays_shared(spec, layout)) add(spec.element_bytes(i));
  for (int join : joins_shared(spec, layout)) add(spec.step_of(join).join->bytes);
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
  bool has_steady = false;
  for (int i = 0; i < spec.input_count(); ++i) {
    read += !is_scalar(access_of(layout, i)) && !spec.is_row(i);
    beside += is_moved(access_of(layout, i)) && is_beside(spec, stays, geometry, i);
    has_steady |= access_of(layout, i) == Access::kSteady;
  }
  // Of one 16-bit array one block a multiprocessor has too little on its way, and one that holds a row waits for what rows share where the first-level cache has no room for it. Of two arrays whose threads
  // meet often a block that is alone has as much on its way as it holds, 128 KB or more: of words that is enough. 16-bit floats take the same instructions for half the bytes, so that memory should not wait for
  // them, and of fewer lanes, which meet sooner.
  const std::size_t shared = shared_by_rows(spec, layout, length);
  const bool is_short = bytes_read(spec, layout) < 4, two_shorts = shared == 0 && arrays.size() == 2 && are_short(spec, arrays) && meets_often(spec);
  const bool lacks = shared == 0 ? is_short : shared > (is_short ? kSharedOfHeldShorts : kSharedOfHeldRows);
  const bool waits = layout.cluster > 1 || (two_shorts ? layout.lanes >= kLanesAlone : layout.residents == 1 && lacks);
  if (!waits || arrays.empty() || (layout.reduced_rank > 1 && are_small(spec, layout, arrays)) || arrays.size() + beside != read || arrays.size() > kMostArraysAhead || spec.users_text || !writes_elements(spec)) return;
  const std::int64_t before = layout.ends == Ends::kAnywhere ? kLineBytes / spec.element_bytes(arrays[0]) - 1 : 0;  // elements of the row's first line, at most
  const std::int64_t vectors = divide_up(length + before, layout.vector);
  const int words = words_wanted_again(spec, stays) * layout.vector;
  for (stays.cluster = 1; stays.cluster <= processors.cluster; stays.cluster *= 2) {
    const bool of_all = has_steady || (is_short && stays.cluster > 1 && stays.cluster < processors.cluster && has_no_gaps(kStayersOfAllThreads[0], stays.cluster, vectors, words));
    const std::span<const Stayers> stayers = two_shorts ? std::span<const Stayers>(kStayersOfTwoShorts) : std::span<const Stayers>(of_all ? kStayersOfAllThreads : kStayers);
    for (const Stayers& each : stayers) {
      stays.lanes = each.lanes;
      stays.residents = each.residents;
      stays.items = static_cast<int>(divide_up(vectors, stays.lanes * stays.cluster));
      const std::size_t taken = kSharedOfMeetings + partial_bytes(spec) * static_cast<std::size_t>(kMostLanes / 32 + 2 * stays.cluster) + shared_bytes_of_rows(spec, stays);
      const std::size_t of_block = processors.shared_bytes / static_cast<std::size_t>(stays.residents), room = of_block - std::min(of_block, taken), rows = room / ahead_bytes(spec, stays);
      if (stays.items * words > each.words || (rows == 0 && shared > 0)) continue;  // a larger cluster's blocks have less of what rows share
      stays.ahead = static_cast<int>(std::min<std::size_t>(rows, kMostAhead));
      if (rows > 0 && geometry.count * stays.cluster >= kRowsToStay * processors.count * stays.residents) layout = stays;
      return;
    }
  }
}

namespace {

/// A block of so many in a cluster that joins across rows and reads ahead; nothing: none holds its part of a row.
std::optional<Layout> staying_across(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors, int cluster) {
  Layout stays = layout;
  stays.ahead = 1;
  stays.cluster = cluster;
  const int most = std::max(kWordsAhead * 4 / (bytes_ahead_across(spec, layout, true) * layout.vector), 1), wanted = std::min(std::max(kElementsAhead / layout.vector, 1), most);
  const std::int64_t vectors = divide_up(geometry.reduced.count, layout.vector);
  stays.lanes = kLeastLanesAhead;
  while (stays.lanes < kThreadsAhead && std::int64_t{stays.lanes} * cluster * wanted < vectors) stays.lanes *= 2;
  stays.items = static_cast<int>(divide_up(vectors, std::int64_t{stays.lanes} * cluster));
  stays.residents = kThreadsAhead / stays.lanes;
  const bool fits = holds_shared_across(spec, stays) || (layout.ends != Ends::kAnywhere && words_ahead_across(spec, stays, joins_shared(spec, stays).size()) <= kMostWordsAhead);
  const std::size_t taken = ahead_bytes(spec, stays) + shared_bytes_of_rows(spec, stays) + kSharedOfMeetings;
  if (!fits || static_cast<std::size_t>(stays.residents) * taken > processors.shared_bytes) return std::nullopt;
  return stays;
}

/// Whether registers of the layout's threads hold all that they have from row to row, and each has as many elements as the others.
bool holds_all_across(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  return holds_shared_across(spec, layout) && std::int64_t{layout.lanes} * layout.cluster * layout.items * layout.vector == geometry.reduced.count;
}

}  // namespace

void stay_across(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors) {
  const std::vector<int> arrays = arrays_ahead(spec, layout);
  if (layout.reduced_rank > 1 || layout.lanes <= 32 || arrays.empty() || are_small(spec, layout, arrays) || !writes_elements(spec)) return;
  if (kOwnRegisters + kWordsAhead + words_held(spec) > kRegisters / kThreadsAhead) return;
  for (int cluster = 1; cluster <= processors.cluster; cluster *= 2) {
    std::optional<Layout> stays = staying_across(spec, layout, geometry, processors, cluster);
    if (!stays) continue;
    // What a block has in shared memory takes longer than two blocks meet.
    if (cluster == 1 && processors.cluster > 1 && !holds_shared_across(spec, *stays)) {
      const std::optional<Layout> two = staying_across(spec, layout, geometry, processors, 2);
      if (two && holds_all_across(spec, *two, geometry)) stays = two;
    }
    if (geometry.count * stays->cluster >= std::int64_t{processors.count} * stays->residents) layout = *stays;  // a row of each block, or cluster
    return;
  }
}

}  // namespace damo
