#include "runtime/cuda/reducing_schedule.hpp"

#include <algorithm>
#include <bit>

#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/row_holders.hpp"
#include "runtime/cuda/run_schedule.hpp"
#include "runtime/cuda/scan_schedule.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/cuda/tile_schedule.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"
#include "runtime/kernel/step_forms.hpp"

namespace damo {
namespace {

constexpr int kRowBytesInFlight = 128;             // of reads a thread: 256 threads have as much on their way as a multiprocessor needs
constexpr int kElementsAnywhere = 32;                // a thread, at most, where rows begin anywhere: each is asked whether it lies in the row
constexpr int kColumnBytesInFlight = 128, kColumnElements = 32;  // a thread, at most
constexpr int kColumnElementsOfShorts = 64;                      // likewise, of kResidentsOfShortColumns blocks
constexpr int kWordsHeld = 16;                                   // registers of a thread that hold a row's elements, where a block holds it so
constexpr int kWordsOfLongestRows = 64;                          // where a cluster of kLanesAlone would not hold them else, and of kernels that write no elements
constexpr int kOwnRegistersOfGroups = 28;                        // as kOwnRegisters, of a thread that joins what it reads at a time as a group
constexpr int kBlocksOfGroupsOfRows = 2;                         // of each multiprocessor: with a third what a row's threads spill is read in their loop
constexpr int kBytesOfGroups = 48 * 1024;                        // of a multiprocessor whose threads do so, on their way
constexpr int kMoreResidentThreads = 1536;      // where blocks of kLanesAlone hold no more than kWordsHeld
constexpr int kFewerResidentThreads = 768;      // of 16-bit floats whose rows begin anywhere, or are held by warps
constexpr int kOwnRegistersAnywhere = 16;       // as kOwnRegisters, of those: some are spilled, which costs less than a block fewer
constexpr int kOwnRegistersInAWarp = 20;        // as kOwnRegisters, of 16-bit floats whose rows warps hold
constexpr int kItemsInAWarp = 5;                // vectors of a thread of short rows: of fewer what lanes give each other is what a row takes
constexpr int kItemsOfDearJoins = 16;           // likewise, of 16-bit floats in one pass whose lanes give each other more than kBytesOfCheapJoins
constexpr std::size_t kBytesOfCheapJoins = 8;
constexpr int kItemsAcross = 4;                  // likewise, of rows that are joined across
constexpr int kLeastLanesInAWarp = 8, kLeastLanesOfShorts = 4;  // that read a line of the cache, or half of one of 16-bit floats
constexpr int kVectorsHeldInAWarp = 2;                          // of a thread, of rows of words
constexpr int kRegistersBesideShort = 16;       // as kOwnRegisters, of threads that want 16-bit floats again
constexpr int kFewOwnRegisters = 20;            // as kOwnRegisters, of a thread that holds so little: what the compiler does with where it must
constexpr int kBlocksInChunks = 32, kBlocksOfWideColumns = 8;  // of each multiprocessor, of rows in chunks, and of columns whose vectors have so many bytes
constexpr int kBytesOfWideColumns = 8, kMostWideCost = 16;  // with which all those blocks are resident: with more arithmetic the last of them would run alone
constexpr std::int64_t kSmallestChunk = 4096;   // elements of a block of which there are several a row
constexpr std::int64_t kMostChunks = 65535;     // the grid's second axis
constexpr std::int64_t kTripCycles = 1200;      // from what a block reads of a tile to its values
constexpr std::int64_t kSecondLaunchCycles = 3500;  // a launch in a replayed graph, what it reads and how it ends: about 2 us
constexpr std::int64_t kOneWarpRow = 4096;      // of one pass: longer rows take a block
constexpr int kSparseLanes = 64;                // up to 32 lanes a row needs no barrier, from 128 on it has warps to hide it: these hold less
constexpr int kLanesOfReaders = 128;            // where no elements are written: many small blocks read while others wait, two large ones do not
constexpr int kClustersResident = 5;            // blocks of kLanesOfACluster
constexpr double kBusyOfRows = 0.85;            // of multiprocessors, while each has a block that goes over a row several times, as often as that takes: of fewer too many wait for the last rows
constexpr int kBlocksOfColumns = 2;             // of each multiprocessor, which go over their columns several times: of fewer some wait too long
constexpr int kBlocksOfShortColumns = 4;        // of each multiprocessor, which holds them all at once
constexpr int kResidentsOfShortColumns = 2;     // likewise, of columns of 16-bit floats with which more is done: the compiler is told
constexpr double kBusyOfResidents = 0.85;       // of the places of resident blocks, each time that blocks begin: where fewer would be taken rows are cut for a few times as many
constexpr int kEnoughBlocks = 3;                // of each multiprocessor, of rows with which little is done: what another kernel joins would cost more than multiprocessors wait
constexpr int kVectorOfShorts = 8;                   // elements: 16 bytes of 16-bit floats
constexpr int kLeastShortVector = 4, kMostShortCost = 8;  // elements of such columns' vectors, and what may be done with each
constexpr int kOwnRegistersOfShorts = 16;                 // as kOwnRegisters, of their threads
constexpr int kArraysOfResidents = 2;                     // of a kernel that has so many
constexpr int kOwnRegistersAcross = 16;         // as kOwnRegisters, of a block that goes over many rows: what 64 of them spill once a row costs less than a block fewer
constexpr std::int64_t kRowsHeld = 256;         // that a block joins across, so that the error of a sum grows slowly

/// Whether some join takes what a thread reads at a time as a group.
bool takes_groups(const KernelSpec& spec) {
  bool some = false;
  each_accumulator(spec, [&](const Join& join) { some |= !join.append_group.empty(); });
  return some;
}

/// Instructions for each element, without what follows for a row alone.
int cost_of_elements(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  int cost = 0;
  for (int value = spec.first_step(); value < spec.first_step() + static_cast<int>(spec.steps.size()); ++value) {
    if (spec.step_of(value).join ? spec.accumulates(value) : passes.is_element(value)) cost += spec.step_of(value).cost;
  }
  return cost;
}

/// Whether all that is read along rows is 16-bit floats, or less.
bool reads_shorts(const KernelSpec& spec, const Layout& layout) {
  for (int i = 0; i < spec.input_count(); ++i) {
    if (access_of(layout, i) == Access::kRow && spec.element_bytes(i) > 2) return false;
  }
  return true;
}

/// Columns of 16-bit floats, or less, with which little is done, in few registers: their blocks read a chunk in half the time, but join what its threads have of each column in the same.
bool has_short_columns(const KernelSpec& spec, const Layout& layout) {
  if (layout.form != Form::kColumns || layout.vector < kLeastShortVector || spec.cost() > kMostShortCost) return false;
  if (kOwnRegistersOfShorts + kColumnElements * words_of_place(spec, layout) + layout.vector * most_joined_words(spec) > kRegisters / kBlocksOfShortColumns / kReducingBlock) return false;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (is_moved(access_of(layout, i)) && access_of(layout, i) != Access::kRow) return false;
  }
  return reads_shorts(spec, layout);
}

/// Columns with which little is done, and whose threads' vectors have enough on their way.
bool has_wide_columns(const KernelSpec& spec, const Layout& layout) {
  return layout.form == Form::kColumns && !has_short_columns(spec, layout) && layout.vector * bytes_read(spec, layout) >= kBytesOfWideColumns && cost_of_elements(spec) <= kMostWideCost;
}

/// Columns of 16-bit floats with which more is done than has_short_columns asks, but no more than their threads do in the time that memory takes: of twice as many elements and half the blocks, what
/// threads join when they have read theirs is half, too.
bool has_dear_short_columns(const KernelSpec& spec, const Layout& layout) {
  return layout.form == Form::kColumns && layout.vector == kVectorOfShorts && joins_in_one_pass(spec) && reads_shorts(spec, layout) && (takes_groups(spec) || has_wide_columns(spec, layout));
}

void share_columns(const KernelSpec& spec, Layout& layout, std::int64_t outputs, std::int64_t length, const AskedRows& asked) {
  int slots = 1;
  while (slots < 32 && std::int64_t{slots} * layout.vector < outputs) slots *= 2;
  const bool gives_lanes = partial_bytes(spec) * static_cast<std::size_t>(kReducingBlock * layout.vector) <= kColumnSharedBytes;  // each other their values, in shared memory
  layout.lanes = asked.lanes > 0 ? std::min(asked.lanes, kReducingBlock) : (length <= 16 && outputs >= kReducingBlock) || !gives_lanes ? 1 : kReducingBlock / slots;
  layout.items = asked.items > 0 ? asked.items : std::clamp(std::min(kColumnBytesInFlight / bytes_read(spec, layout), has_dear_short_columns(spec, layout) ? kColumnElementsOfShorts : kColumnElements) / layout.vector, 1, kMostItems);
}

/// Whether there are rows for all multiprocessors if each is a warp's.
bool are_many(std::int64_t rows, const Processors& processors) { return rows / (kReducingBlock / 32) >= std::int64_t{32} * processors.count; }

/// Lanes of a warp that share a row of so many vectors, at least so many where it has as many, if each is to have so many of them.
int lanes_in_a_warp(std::int64_t vectors, int items, int least) {
  int lanes = 1;
  while (lanes < 32 && std::int64_t{lanes} * (lanes < least ? 1 : items) < vectors) lanes *= 2;
  return lanes;
}

/// Lanes that join a row of one pass.
int lanes_of_one_pass(const KernelSpec& spec, const Layout& layout, std::int64_t vectors, bool many) {
  const bool is_short = bytes_read(spec, layout) < 4;
  return lanes_in_a_warp(vectors, many ? (is_short && partial_bytes(spec) > kBytesOfCheapJoins ? kItemsOfDearJoins : kItemsInAWarp) : 1, is_short ? kLeastLanesOfShorts : kLeastLanesInAWarp);
}

/// Lanes of a warp that share a row whose values are joined across rows too: what they give each other is the greatest cost of short rows.
int lanes_across(std::int64_t vectors) {
  int lanes = vectors > 1 ? 2 : 1;
  while (lanes < 32 && std::int64_t{lanes} * kItemsAcross < vectors) lanes *= 2;
  return lanes;
}

/// Whether what a thread has of a row from its first pass on is of fewer bytes than its registers: 16-bit floats, whatever a later pass reads beside them.
bool holds_short(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int bytes = 0, words = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (!is_moved(access_of(layout, i)) || access_of(layout, i) == Access::kEveryRow || passes.is_read_late(i)) continue;
    bytes += spec.element_bytes(i);
    words += words_of(spec.parameter_dtype(i));
  }
  return bytes < 4 * words;
}

/// Lanes, items and cluster that hold a row; false if nothing does.
bool hold_rows(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t length, const Processors& processors, const AskedRows& asked) {
  const int words = words_of_place(spec, layout) * layout.vector;  // of a vector
  const std::int64_t vectors = divide_up(length, layout.vector) + (layout.ends == Ends::kAnywhere ? 1 : 0);
  const bool writes = writes_elements(spec), is_short = words > 0 && (bytes_read(spec, layout) < 4 * words_of_place(spec, layout) || holds_short(spec, layout));
  const int most_alone = writes ? kLanesAlone : kLanesOfReaders;
  int lanes = 1, cluster = 1, held = !writes ? kWordsOfLongestRows : is_short ? kMostWordsHeld : kWordsHeld;
  // Of 16-bit floats a vector more, where most threads' last one is empty: two blocks of twice the lanes wait for each other.
  const int more_vectors = is_short && layout.ends == Ends::kAnywhere ? 1 : 0;
  const int of_members = words_of_members(spec, layout);
  const auto held_by_thread = [&] { return lanes == kSparseLanes ? held / 2 : lanes == kMostLanes ? held - of_members : held; };  // so many lanes leave few registers beside
  const auto fits = [&] { return std::int64_t{lanes} * cluster * (std::max(held_by_thread() / words, 1) + more_vectors) >= vectors; };
  const bool is_of_warps = is_short && !spec.joins_across() && are_many(geometry.count, processors);
  lanes = spec.joins_across() && are_many(geometry.count, processors) ? lanes_across(vectors) : lanes_in_a_warp(vectors, is_of_warps ? std::clamp(held / words + more_vectors, 1, kItemsInAWarp) : are_many(geometry.count, processors) && !is_short ? kVectorsHeldInAWarp
                                                                                                                                                                                                                                                     : 1,
                                                                                                                kLeastLanesInAWarp);
  while (lanes < most_alone && !fits()) lanes *= 2;
  const bool is_free = asked.lanes + asked.items + asked.cluster + asked.residents == 0;
  if (lanes > 32 && is_free && hold_many_words(spec, layout, geometry, vectors, processors, is_short)) return true;
  if (is_short && lanes == kLanesAlone && fits() && is_free && hold_short_row(spec, layout, geometry, vectors, processors)) return true;
  if (!fits()) held = kMostWordsHeld;
  while (lanes < kLanesAlone && !fits()) lanes *= 2;
  if (!fits() && is_free && hold_long_row(spec, layout, geometry, vectors, processors)) return true;
  if (!fits() && processors.cluster > 1) {
    lanes = kLanesOfACluster;
    while (cluster < processors.cluster && !fits()) cluster *= 2;
    if (!fits()) lanes = kLanesAlone, held = kWordsOfLongestRows;
  }
  while (held <= kMostWordsHeld && lanes < kMostLanes && !fits()) lanes *= 2;
  if (asked.lanes > 0) lanes = asked.lanes;
  if (asked.cluster > 0 && lanes > 32) cluster = std::min(asked.cluster, processors.cluster);
  if (!fits() && asked.lanes == 0) return false;
  layout.lanes = lanes;
  layout.cluster = cluster;
  layout.items = static_cast<int>(divide_up(vectors, std::int64_t{lanes} * cluster));
  // Registers for that many, where the values fit: else the compiler reads far ahead, and too few blocks are resident.
  const int held_registers = layout.items * words + words_held(spec) + of_members;
  const bool more = cluster == 1 && lanes == kLanesAlone && layout.items * layout.vector * words_wanted_again(spec, layout) <= kWordsHeld && kFewOwnRegisters + held_registers <= kRegisters / kMoreResidentThreads;
  int threads = more ? kMoreResidentThreads : kOwnRegisters + held_registers <= kRegisters / kResidentThreads ? kResidentThreads : 0;
  const bool in_warps = is_of_warps && lanes <= 32;
  if (more_vectors > 0 || in_warps) {
    const int registers = (in_warps ? kOwnRegistersInAWarp : kOwnRegistersAnywhere) + layout.vector * (layout.items * words_of_place(spec, layout) + most_joined_words(spec));
    const bool as_many = more_vectors > 0 && registers <= kRegisters / kResidentThreads;
    threads = as_many ? kResidentThreads : registers <= kRegisters / kFewerResidentThreads ? kFewerResidentThreads : 0;
  }
  // What is spilled of 16-bit floats costs more than a block fewer.
  if (is_short && kRegistersBesideShort + layout.items * layout.vector * bytes_wanted_again(spec, layout) / 4 > kRegisters / kResidentThreads) threads = std::min(threads, kFewerResidentThreads);
  layout.residents = asked.residents > 0 ? asked.residents : lanes > 32 ? threads / lanes : in_warps ? threads / kReducingBlock : 0;
  // More of a cluster's blocks hide its meetings, while the compiler has registers for it: with the addresses of more arrays, or structs that are joined, it spills.
  if (asked.residents == 0 && cluster > 1 && layout.residents > 0 && of_members == 0 && spec.parameter_count() <= kArraysOfResidents) layout.residents = std::max(layout.residents, kClustersResident * kLanesOfACluster / lanes);
  return true;
}

/// Blocks that a multiprocessor is to have of rows that are not held, if the compiler is to be told, else 0. Of threads that append groups as many as registers leave room for, or as have enough on their way: left to itself
/// the compiler takes registers for a row's value, too, which is joined so seldom that it may be spilled, and for more of a group than it computes at a time.
int residents_of_pass(const KernelSpec& spec, const Layout& layout) {
  if (has_dear_short_columns(spec, layout)) return kResidentsOfShortColumns;
  const int registers = kOwnRegistersOfGroups + layout.vector * (layout.items * words_of_place(spec, layout) + most_joined_words(spec));
  const int bytes = layout.items * layout.vector * bytes_read(spec, layout) * reducing_block(layout);
  if (!takes_groups(spec) || layout.items == 1) return 0;
  const int wanted = std::max({kRegisters / registers / reducing_block(layout), static_cast<int>(divide_up(kBytesOfGroups, bytes)), 1}), residents = std::min(wanted, kThreadsOfAMultiprocessor / reducing_block(layout));
  return layout.form == Form::kRows ? std::min(residents, kBlocksOfGroupsOfRows) : residents;
}

/// Chunks of a row of one pass, of which each has so many blocks: those that the compiler was told of begin at once, and each costs what its threads join and what the second kernel reads of it.
std::int64_t chunks_wanted(const KernelSpec& spec, const Layout& layout, std::int64_t blocks, const Processors& processors) {
  const auto of = [&](int each) { return std::int64_t{each} * processors.count; };
  if (layout.form == Form::kRows && layout.beside == 0 && blocks >= of(kEnoughBlocks) && cost_of_elements(spec) <= kMostWideCost) return 1;
  // Once, or a few times, as many as are resident, where few rows make no near multiple of that.
  for (int times = 1; layout.residents > 0 && times < kBlocksInChunks / layout.residents; times *= 2) {
    const std::int64_t places = times * of(layout.residents), chunks = places / blocks;
    if (static_cast<double>(chunks * blocks) >= kBusyOfResidents * static_cast<double>(places)) return chunks;
  }
  if (has_short_columns(spec, layout)) return divide_up(of(kBlocksOfShortColumns), blocks);
  if (has_wide_columns(spec, layout)) return std::max<std::int64_t>(of(kBlocksOfWideColumns) / blocks, 1);
  return divide_up(of(kBlocksInChunks), blocks);
}

/// Vectors of a thread at a time where nothing is held: for the bytes on their way, and so that the last time is as full as the others
/// if that takes no less than half of them.
int items_of_pass(const KernelSpec& spec, const Layout& layout, std::int64_t length) {
  const std::int64_t each = std::int64_t{layout.lanes} * layout.vector, most = divide_up(length, each);
  const int bytes = kRowBytesInFlight - (layout.lanes == kMostLanes ? 4 * words_of_members(spec, layout) : 0);  // that have registers beside what is joined
  const std::int64_t at_once = layout.ends == Ends::kAnywhere ? std::max(kElementsAnywhere / layout.vector, 1) : kMostItems;
  const int wanted = static_cast<int>(std::clamp<std::int64_t>(bytes / (bytes_read(spec, layout) * layout.vector), 1, std::min(most, at_once)));
  // Sums of groups of a power of two, of which a whole number makes vectors_of_a_sum, err least.
  if (takes_groups(spec)) return static_cast<int>(std::bit_floor(static_cast<unsigned>(wanted)));
  for (int items = wanted; items * 2 > wanted; --items) {
    if (length % (each * items) == 0) return items;
  }
  return wanted;
}

/// Rows in pieces that are joined as they are read: threads of a warp have neighbouring rows, so that they read lines of the cache together.
void share_rows_beside(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t length) {
  const int together = bytes_together(spec, layout, geometry);
  layout.beside = 1;
  while (layout.beside < 32 && layout.beside * together < kLineBytes && layout.beside < geometry.count) layout.beside *= 2;
  layout.lanes = kReducingBlock / layout.beside;
  layout.items = items_of_pass(spec, layout, length);
}

/// Lanes of a long row that nothing holds: of less than whole words as few as have all of it on its way at once, so that each joins many elements before it asks the others, while there are
/// rows for all multiprocessors.
int lanes_of_pass(const KernelSpec& spec, const Layout& layout, std::int64_t rows, std::int64_t length, const Processors& processors) {
  const std::int64_t each = std::clamp(kRowBytesInFlight / (bytes_read(spec, layout) * layout.vector), 1, kMostItems) * layout.vector;
  int lanes = kReducingBlock;
  while (bytes_read(spec, layout) < 4 && lanes > 32 && lanes / 2 * each >= length && rows * (lanes / 2) / kReducingBlock >= std::int64_t{32} * processors.count) lanes /= 2;
  return lanes;
}

/// Elements that a block's threads take together of each row.
std::int64_t tile_of(const Layout& layout) {
  return std::int64_t{layout.lanes} * layout.cluster * layout.items * (layout.form == Form::kRows ? layout.vector : 1);
}

/// Shared memory of a block for what it holds of joins across rows, or for rows ahead.
std::size_t held_bytes(const KernelSpec& spec, const Layout& layout) {
  if (layout.ahead > 0) return static_cast<std::size_t>(layout.ahead) * ahead_bytes(spec, layout) + shared_bytes_of_rows(spec, layout);
  std::size_t bytes = 0;
  const std::int64_t places = std::int64_t{reducing_block(layout)} * layout.items * layout.vector;
  each_accumulator(spec, [&](const Join& join) { bytes += join.across ? static_cast<std::size_t>(divide_up(places * join.bytes, 128) * 128) : 0; });
  return bytes;
}

/// With what a row's own joins take there.
std::size_t shared_bytes_across(const KernelSpec& spec, const Layout& layout) {
  return held_bytes(spec, layout) + partial_bytes(spec) * static_cast<std::size_t>(reducing_block(layout) / 32 + layout.cluster);
}

/// Joins of a row in the pass that has most of them.
int most_row_joins(const KernelSpec& spec) {
  std::ptrdiff_t most = 0;
  const Passes passes(spec, [](int, const Passes&) { return true; });
  for (const Passes::Pass& pass : passes.all()) most = std::max(most, std::count_if(pass.joins.begin(), pass.joins.end(), [&](int join) { return !spec.step_of(join).join->across; }));
  return static_cast<int>(most);
}

/// Blocks that a multiprocessor holds at once: by its shared memory, and by registers for the row's elements and a vector of each join across rows, and, of those that write elements, of each but the first that a row has at once.
int resident_across(const KernelSpec& spec, const Layout& layout, const Processors& processors) {
  if (layout.ahead > 0) return layout.residents;
  const auto in_shared = static_cast<int>(processors.shared_bytes / std::max<std::size_t>(shared_bytes_across(spec, layout), 1));
  const int of_vectors = layout.vector * (layout.items * words_of_place(spec, layout) + static_cast<int>(across_bytes(spec)) / 4 + (writes_elements(spec) ? std::max(most_row_joins(spec) - 1, 0) : 0));
  const int threads = std::min(kRegisters / (kOwnRegistersAcross + of_vectors), kResidentThreads);
  return std::max(std::min(threads / reducing_block(layout), in_shared), 1);
}

}  // namespace

Layout finish_layout(Layout layout) {
  if (layout.form == Form::kColumns && layout.vector > 1) layout.lanes = std::max(layout.lanes, kLanesOfFinish);
  layout.vector = 1;
  layout.beside = 0;
  layout.residents = 0;
  return layout;
}

int reducing_block(const Layout& layout) {
  if (layout.rows_each > 0) return kThreadsOfRuns;
  if (layout.beside > 0) return layout.lanes * layout.beside;
  return layout.form == Form::kRows && layout.whole && layout.lanes > 32 ? layout.lanes : std::max(layout.lanes, kReducingBlock);
}

Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1), outputs = geometry.count;
  const bool rows = layout.form == Form::kRows;
  const AskedRows asked = asked_rows();
  const bool is_free = asked.lanes + asked.items + asked.cluster + asked.residents == 0;
  move_in_vectors(spec, layout, geometry);
  mark_steady(layout, geometry, spec.input_count());
  mark_unbroken(layout, geometry);
  if (!rows) {
    share_columns(spec, layout, outputs, length, asked);
    const int held = std::max(kMostWordsHeld / words_of_place(spec, layout) / layout.vector, 1);
    const auto holds = [&](int lanes) { return std::int64_t{lanes} * held >= length; };
    if (goes_again(spec) && asked.lanes == 0 && layout.vector >= kVectorOfShorts && layout.lanes == kReducingBlock / 32 && !holds(layout.lanes) && holds(2 * layout.lanes)) layout.lanes *= 2;
    layout.whole = goes_again(spec) && holds(layout.lanes);
    if (layout.whole) layout.items = static_cast<int>(divide_up(length, layout.lanes));
    else hold_tile(spec, layout, geometry, length, processors, asked);
  } else if (is_free && share_runs(spec, layout, geometry, processors)) {
    return layout;
  } else if ((!is_free || (!share_pieces(spec, layout, geometry, processors) && !share_elements(spec, layout, geometry, processors))) && (!lies_in_pieces(spec, layout, geometry) || !hold_tile(spec, layout, geometry, length, processors, asked))) {
    layout.whole = (goes_again(spec) || spec.joins_across()) && hold_rows(spec, layout, geometry, length, processors, asked);
    if (layout.whole && spec.joins_across()) {
      if (asked.residents == 0) layout.residents = resident_across(spec, layout, processors);
      if (asked.lanes == 0 && asked.cluster == 0 && asked.residents == 0) stay_across(spec, layout, geometry, processors);
      if (layout.ends == Ends::kVectors && length == tile_of(layout) && geometry.joined % (reducing_block(layout) / layout.lanes) == 0) layout.ends = Ends::kTiles;
      return layout;
    }
    if (layout.whole && asked.lanes == 0 && asked.cluster == 0 && !spec.scans()) stay(spec, layout, geometry, processors);
    if (!layout.whole && is_free && joins_in_one_pass(spec) && lies_in_pieces(spec, layout, geometry)) {
      share_rows_beside(spec, layout, geometry, length);
    } else if (!layout.whole) {
      const bool many = are_many(outputs, processors);
      layout.lanes = lanes_of_one_pass(spec, layout, divide_up(length, layout.vector), many);
      if (goes_again(spec)) layout.lanes = kMostLanes;
      else if (length > 32 * layout.vector && !(length <= kOneWarpRow && many)) layout.lanes = lanes_of_pass(spec, layout, outputs, length, processors);
      if (asked.lanes > 0) layout.lanes = asked.lanes;
      layout.items = asked.items > 0 ? asked.items : items_of_pass(spec, layout, length);
      // What is joined leaves so many lanes one vector each, which is no group and too little on its way.
      if (is_free && layout.lanes == kMostLanes && layout.items == 1 && takes_groups(spec)) {
        layout.lanes /= 2;
        layout.items = items_of_pass(spec, layout, length);
      }
    }
  }
  if (!layout.whole) layout.residents = asked.residents > 0 ? asked.residents : residents_of_pass(spec, layout);
  const Work work = reducing_cuda_work(spec, layout, geometry, processors);
  layout.chunked = work.chunks > 1;
  const std::int64_t tile = tile_of(layout), slots = reducing_block(layout) / layout.lanes * (rows ? 1 : layout.vector);
  const bool even = layout.whole ? length == tile : length % tile == 0 && work.chunk % tile == 0;
  if (layout.ends == Ends::kVectors && even && outputs % slots == 0) layout.ends = Ends::kTiles;
  return layout;
}

/// Whether a cluster holds rows in pieces, of whose time its meetings take so much that another reading takes less.
static bool meets_over_pieces(const Layout& layout) { return layout.whole && layout.form == Form::kRows && layout.beside > 0 && layout.cluster > 1 && layout.ahead == 0; }

bool prefers_cuda_passes(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) {
  if (spec.scans_alone() || !goes_again(spec) || geometry.count * geometry.reduced.count < kLongRow) return false;
  const Layout layout = classify_reducing(geometry);
  if (layout.form == Form::kRows && geometry.count * 2 < processors.count) return true;
  const Layout shared = share_cuda_rows(spec, layout, geometry, processors);
  if (shared.whole) return meets_over_pieces(shared) && count_passes(spec) == 2;
  if (layout.form == Form::kRows) return static_cast<double>(geometry.count) < kBusyOfRows * static_cast<double>(divide_up(geometry.count, processors.count) * processors.count);
  return divide_up(geometry.count, std::int64_t{reducing_block(shared)} / shared.lanes * shared.vector) < kBlocksOfColumns * processors.count;
}

bool prefers_one_cuda_reading(const KernelSpec& spec, const KernelSpec& form, const Geometry& geometry, const Processors& processors) {
  const Layout layout = share_cuda_rows(spec, classify_reducing(geometry), geometry, processors);
  bool has_short = false;
  for (int i = 0; i < spec.input_count(); ++i) has_short |= access_of(layout, i) == Access::kRow && spec.element_bytes(i) == 2;
  if (has_short && layout.form == Form::kRows && layout.ends == Ends::kAnywhere) return false;
  if (meets_over_pieces(layout) && count_passes(form) == 2) return true;
  return !layout.whole || prefers_cuda_passes(spec, geometry, processors) || (layout.cluster > 1 && joins_in_one_pass(form));
}

bool joins_cuda_across(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) {
  const Layout layout = share_cuda_rows(spec, classify_reducing(geometry), geometry, processors);
  const Passes passes(spec, [](int, const Passes&) { return true; });
  const bool meets = layout.cluster == 1 || !passes.all()[0].joins.empty();  // the blocks of a cluster, before they give each other values
  return layout.form == Form::kRows && layout.whole && meets && shared_bytes_across(spec, layout) <= processors.shared_bytes;
}

bool scans_cuda_rows(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) {
  const Layout layout = share_cuda_rows(spec, classify_reducing(geometry), geometry, processors);
  return layout.form == Form::kRows && layout.whole && layout.beside == 0 && layout.cluster == 1;
}

static Work across_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  Work work;
  const int threads = reducing_block(layout);
  const std::int64_t length = geometry.reduced.count, batches = geometry.count / std::max<std::int64_t>(geometry.joined, 1), groups = divide_up(geometry.joined, threads / layout.lanes);
  const std::int64_t resident = std::max<std::int64_t>(std::int64_t{processors.count} * resident_across(spec, layout, processors) / layout.cluster / std::max<std::int64_t>(batches, 1), 1);
  work.chunk = length;
  work.chunks = std::min(resident * divide_up(groups, resident * kRowsHeld), divide_up(groups, 2));
  work.launches.push_back({0, {{batches * work.chunks * layout.cluster}, {threads}, held_bytes(spec, layout)}});
  work.launches.push_back({1, {{divide_up(batches * length, kAcrossColumns)}, {kAcrossColumns * kAcrossLanes}}});
  work.scratch_bytes = static_cast<std::size_t>(batches * work.chunks * length) * across_bytes(spec) + 128 * spec.steps.size();
  return work;
}

Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  if (spec.joins_across()) return across_cuda_work(spec, layout, geometry, processors);
  Work work;
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1);
  const int threads = reducing_block(layout), slots = threads / layout.lanes;
  const std::int64_t columns = layout.form == Form::kColumns ? layout.vector : 1;
  const std::int64_t blocks = std::max<std::int64_t>(divide_up(geometry.count, slots * columns), 1);
  work.chunk = length;
  if (layout.rows_each > 0) {
    const std::int64_t all = std::max<std::int64_t>(divide_up(geometry.count, std::int64_t{threads} * layout.rows_each), 1);
    work.launches.push_back({0, {{all}, {threads}, static_cast<std::size_t>(run_bytes(spec, layout) * (threads / 32))}});
    return work;
  }
  if (joins_in_one_pass(spec)) {
    const std::int64_t smallest = std::max<std::int64_t>(kSmallestChunk * layout.lanes / threads / columns, 1);
    const std::int64_t most = std::min({chunks_wanted(spec, layout, blocks, processors), divide_up(length, smallest), kMostChunks});
    const std::int64_t tile = std::max<std::int64_t>(tile_of(layout), 32);  // chunks begin where a line of the cache does
    work.chunk = divide_up(divide_up(length, std::max<std::int64_t>(most, 1)), tile) * tile;
    // The loss of a batch is a row that one block reads in a few trips, which take less than a second launch that joins its chunks.
    const std::int64_t each = kTripCycles + std::int64_t{layout.items} * layout.vector * spec.cost() * (threads / kLanesOfAMultiprocessor);
    if ((divide_up(length, tile) - divide_up(work.chunk, tile)) * each <= kSecondLaunchCycles) work.chunk = length;
  }
  work.chunks = divide_up(length, work.chunk);
  if (layout.ahead > 0) {
    const std::int64_t clusters = std::max(processors.count * layout.residents / layout.cluster, 1);
    work.launches.push_back({0, {{std::min(blocks, clusters) * layout.cluster}, {threads}, held_bytes(spec, layout)}});
    return work;
  }
  work.launches.push_back({0, {{blocks * layout.cluster, work.chunks}, {threads}}});
  if (work.chunks == 1) return work;
  const Layout finish = finish_layout(layout);
  work.launches.push_back({1, {{divide_up(geometry.count, reducing_block(finish) / finish.lanes)}, {reducing_block(finish)}}});
  work.scratch_bytes = static_cast<std::size_t>(geometry.count * work.chunks) * partial_bytes(spec);
  return work;
}

}  // namespace damo
