#include "runtime/cuda/scan_schedule.hpp"

#include <algorithm>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"

namespace damo {
namespace {

constexpr int kScanWords = 16, kColumnScanWords = 32;  // registers of a thread that hold elements of a scan, of rows and of columns
constexpr int kTileScanWords = 64, kMostScanItems = 16;  // where rows are several tiles and there are tiles for all multiprocessors
constexpr int kScanResidents = 2;               // blocks that hold so much
constexpr int kStagedResidents = 3;             // blocks whose inputs wait in shared memory
constexpr int kMostStagedBytes = 64 * 1024, kReservedShared = 2 * 1024;  // of such a block, and what it takes beside
constexpr int kMostStagedCost = 8;              // of making and joining an element, which staging does twice
constexpr int kJoining = 4, kJoiningExclusive = 6, kSpare = 3;  // registers, of what is staged: of what each element of a vector is joined from, and what the compiler wants beside
constexpr int kColumnsTogether = 256;           // bytes of neighbouring columns, so that tiles are high

/// 32-bit words of what a scan joins.
int joined_words(const KernelSpec& spec) {
  int words = 0;
  each_accumulator(spec, [&](const Join& join) { words += (join.bytes + 3) / 4; });
  return words;
}

/// Registers that joining an element takes: an exclusive value is made of the one before.
int joining_words(const KernelSpec& spec) {
  int words = 0;
  each_accumulator(spec, [&](const Join& join) { words += (join.bytes + 3) / 4 * (join.prefix == Prefix::kExclusive ? kJoiningExclusive : kJoining); });
  return words;
}

/// Bytes of one element of all inputs that are staged.
int staged_bytes(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (!spec.is_row(i) && !is_scalar(access_of(layout, i))) bytes += spec.element_bytes(i);
  }
  return bytes;
}

/// Vectors of a thread for which shared memory has slots, with kStagedResidents blocks resident; 0 where staging is not worth it: what is joined, which is then
/// made twice, is dear, or how dear a user's text is nobody knows.
int most_staged(const KernelSpec& spec, const Layout& layout, const Processors& processors, int threads, int slots_of_columns) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  const int bytes = threads * layout.vector * staged_bytes(spec, layout);
  int cost = 0;
  for (int value : passes.before_joins()) cost += spec.step_of(value).cost;
  for (int join : passes.all()[0].joins) cost += spec.step_of(join).cost;
  if (spec.users_text || bytes == 0 || cost > kMostStagedCost) return 0;
  const int columns = layout.form == Form::kRows ? 0 : slots_of_columns * layout.vector;
  const auto others = static_cast<int>(kReservedShared + partial_bytes(spec) * static_cast<std::size_t>(columns * (kReducingBlock / 32 + kMostColumnLevels)));
  return std::max(std::min(kMostStagedBytes, static_cast<int>(processors.shared_bytes) / kStagedResidents - others) / bytes, 0);
}

/// Registers that one element of a scan takes while others are waited for: what is joined so far, and what is wanted afterwards.
int words_of_scan(const KernelSpec& spec, const Layout& layout) {
  const Passes passes(spec, [](int, const Passes&) { return true; });
  int words = joined_words(spec);
  for (int input : passes.all().back().inputs) {
    if (is_moved(access_of(layout, input))) words += words_of(spec.parameter_dtype(input));
  }
  return words + static_cast<int>(passes.all().back().kept.size());
}

/// Threads that share a row and vectors of each of them, of a scan: at most `items`, and no more than the row has.
void share_tile(Layout& layout, int items, std::int64_t length, std::int64_t outputs, int slots_of_columns, const AskedRows& asked) {
  int lanes = 1;
  if (layout.form == Form::kRows) {
    const std::int64_t vectors = divide_up(length, layout.vector) + (layout.ends == Ends::kAnywhere ? 1 : 0);
    while (lanes < 32 && lanes < vectors) lanes *= 2;
    while (lanes < kReducingBlock && std::int64_t{lanes} * items < vectors) lanes *= 2;
    if (asked.lanes > 0 && lanes >= kReducingBlock) lanes = std::max(asked.lanes, kReducingBlock);
    items = static_cast<int>(std::min<std::int64_t>(items, divide_up(vectors, lanes)));
  } else {
    int slots = 1;
    while (slots < slots_of_columns && std::int64_t{slots} * layout.vector < outputs) slots *= 2;
    lanes = kReducingBlock / slots;
    while (lanes > 1 && std::int64_t{lanes} / 2 * items >= length) lanes /= 2;
  }
  layout.lanes = lanes;
  layout.items = items;
}

}  // namespace

Layout share_cuda_scan(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors) {
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1), outputs = geometry.count;
  const bool rows = layout.form == Form::kRows;
  const AskedRows asked = asked_rows();
  move_in_vectors(spec, layout, geometry);
  const int words = layout.vector * words_of_scan(spec, layout);  // of a vector
  const int few = asked.items > 0 ? asked.items : std::clamp((rows ? kScanWords : kColumnScanWords) / words, 1, kMostItems);
  int widest = 1, residents = kScanResidents;
  for (int i = 0; i < spec.parameter_count(); ++i) widest = std::max(widest, spec.element_bytes(i));
  int slots_of_columns = std::clamp(kColumnsTogether / (layout.vector * widest), 16, 32);
  // What lanes and levels give of a tile's columns lies in shared memory that any block may have.
  const auto fits = [&] { return partial_bytes(spec) * static_cast<std::size_t>(slots_of_columns * layout.vector * (kReducingBlock / 32 + kMostColumnLevels)) + kReservedShared <= kColumnSharedBytes; };
  while (!rows && slots_of_columns > 1 && !fits()) slots_of_columns /= 2;
  share_tile(layout, few, length, outputs, slots_of_columns, asked);
  if (scan_cuda_work(spec, layout, geometry).chunks > 1) {
    // What stands before a vector of a row takes registers too.
    const int own = kOwnRegisters + words_held(spec), before = rows ? joined_words(spec) : 0, registers = kRegisters / (kReducingBlock * kScanResidents);
    int items = std::min({kMostScanItems, kTileScanWords / words, (registers - own) / (words + before)});
    if (const int staged = most_staged(spec, layout, processors, rows ? std::max(asked.lanes, kReducingBlock) : kReducingBlock, slots_of_columns); staged > 0) {
      layout.staged = true;
      // As many bytes on their way as registers allow: one block fewer leaves threads more of them.
      const int joining = own + layout.vector * (joining_words(spec) + (staged_bytes(spec, layout) + 3) / 4) + kSpare;
      const auto fits = [&](int words_of_thread) { return std::min({kMostScanItems, staged, (words_of_thread - joining) / std::max(before, 1)}); };
      const int many = fits(kRegisters / (kReducingBlock * kStagedResidents)), fewer = fits(registers * 7 / 8);
      if (many * kStagedResidents >= fewer * residents) residents = kStagedResidents;
      items = residents == kStagedResidents ? many : fewer;
      if (asked.items > 0) items = std::min(asked.items, staged);
    } else {
      items = asked.items > 0 ? asked.items : std::max(items, few);
    }
    items = std::max(items, 1);
    share_tile(layout, items, length, outputs, slots_of_columns, asked);
    while (items > few && scan_cuda_work(spec, layout, geometry).launches[0].config.grid.x < std::int64_t{processors.count} * residents) {
      items = std::max(items / 2, few);
      share_tile(layout, items, length, outputs, slots_of_columns, asked);
    }
  }
  const Work work = scan_cuda_work(spec, layout, geometry);
  layout.chunked = work.chunks > 1;
  // The compiler is told of registers for all of it: of itself it would have more blocks resident, and spill.
  layout.residents = asked.residents > 0 ? asked.residents : layout.chunked || layout.staged || layout.items > few ? residents * kReducingBlock / reducing_block(layout) : 0;
  const std::int64_t slots = reducing_block(layout) / layout.lanes * (rows ? 1 : layout.vector);
  if (layout.ends == Ends::kVectors && length % work.chunk == 0 && outputs % slots == 0) layout.ends = Ends::kTiles;
  return layout;
}

int state_words(const Join& join, bool rows) {
  const int words = (join.bytes + 3) / 4;
  return rows ? static_cast<int>(divide_up(words, kSectorWords)) * kSectorWords : words;
}

Work scan_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  Work work;
  const bool rows = layout.form == Form::kRows;
  const std::int64_t length = std::max<std::int64_t>(geometry.reduced.count, 1), radix = rows ? 32 : kColumnRadix;
  const int threads = reducing_block(layout);
  const std::int64_t groups = std::max<std::int64_t>(divide_up(geometry.count, threads / layout.lanes * (rows ? 1 : layout.vector)), 1);
  work.chunk = std::int64_t{layout.lanes} * layout.items * (rows ? layout.vector : 1);
  work.chunks = divide_up(length + (rows && layout.ends == Ends::kAnywhere ? layout.vector - 1 : 0), work.chunk);
  const std::size_t staged = layout.staged ? static_cast<std::size_t>(threads * layout.items * layout.vector * staged_bytes(spec, layout)) : 0;
  work.launches.push_back({0, {{groups * work.chunks}, {threads}, staged}});
  if (work.chunks == 1) return work;
  int words = 0;
  each_accumulator(spec, [&](const Join& join) { words += state_words(join, rows); });
  work.tile = work.chunks;
  for (std::int64_t tiles = work.chunks; tiles > 1;) work.tile += tiles = divide_up(tiles, radix);
  work.zeroed_bytes = work.scratch_bytes = static_cast<std::size_t>(kTicketWords + geometry.count * work.tile * words) * sizeof(std::uint64_t);
  return work;
}

}  // namespace damo
