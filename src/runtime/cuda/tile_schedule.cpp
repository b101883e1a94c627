#include "runtime/cuda/tile_schedule.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/row_holders.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

constexpr int kOwnRegistersOfATile = 16;           // as kOwnRegisters, of a thread that holds a part of a tile
constexpr int kOwnRegistersOfPieces = 26;          // likewise, where the place of a vector in its row is looked for
constexpr int kLeastFetch = 4;                     // bytes of a vector: what is less goes through registers
constexpr std::int64_t kTimesRead = 16;            // each element, at least, of what the last pass alone reads of blocks that stay
constexpr int kLeastWritten = 16;                  // bytes beside each other of what a tile writes: half a sector of memory, which it reads before it writes a part of one
constexpr std::int64_t kBytesOfTiles = 64 * 1024;  // of a multiprocessor whose clusters hold tiles: of fewer it waits for their meetings

/// Rows of a thread, side by side.
int rows_of_thread(const Layout& tile) { return tile.form == Form::kColumns ? tile.vector : 1; }

/// Neighbouring threads whose vectors, or pieces, are so many bytes together.
int beside_of(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int bytes) {
  const int together = bytes_together(spec, layout, geometry);
  int beside = 1;
  while (beside < 32 && beside * together < bytes && beside * rows_of_thread(layout) < geometry.count) beside *= 2;
  return beside;
}

/// Whether of a tile that has so many bytes of its widest elements beside each other enough is written so. Maxima and 8-bit results of 16384 x 8192 float32 took 600 us with 8 bytes of these, 308 in two readings.
bool writes_enough(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, int bytes) {
  const int elements = beside_of(spec, layout, geometry, bytes) * rows_of_thread(layout);
  for (int i = spec.input_count(); layout.form == Form::kColumns && i < spec.parameter_count(); ++i) {
    if (access_of(layout, i) == Access::kRow && elements * spec.element_bytes(i) < kLeastWritten && elements < geometry.count) return false;
  }
  return true;
}

/// Of a thread, for so many words of each element that it holds, and what it joins.
int registers_of_tile(const KernelSpec& spec, const Layout& tile, int words) {
  const int own = tile.form == Form::kColumns ? kOwnRegistersOfATile : kOwnRegistersOfPieces;
  return own + tile.items * (tile.vector * words + words_of_steady(spec, tile, false)) + (tile.vector + rows_of_thread(tile)) * most_joined_words(spec);
}

/// Blocks of a tile that a multiprocessor is to hold: as many threads as leave registers for what each holds and joins.
int residents_of_tile(const KernelSpec& spec, const Layout& tile) {
  return std::max(std::min(kRegisters / registers_of_tile(spec, tile, words_wanted_again(spec, tile)), kResidentThreads) / reducing_block(tile), 1);
}

/// Whether each element of the array is read so often that caches have it.
bool is_read_often(const Geometry& geometry, int array) {
  std::int64_t elements = 1;
  const auto at = static_cast<std::size_t>(array);
  for (int axis = 0; axis < geometry.extents.rank(); ++axis) elements *= geometry.strides[at][axis] == 0 ? 1 : geometry.extents[axis];
  for (int axis = 0; axis < geometry.reduced.extents.rank(); ++axis) elements *= geometry.reduced.strides[at][axis] == 0 ? 1 : geometry.reduced.extents[axis];
  return elements <= geometry.count * geometry.reduced.count / kTimesRead;
}

/// Whether memory can be asked for all that a thread holds of a tile.
bool can_be_asked_for(const KernelSpec& spec, const Layout& tile, const Geometry& geometry) {
  const std::vector<int> arrays = arrays_ahead(spec, tile);
  const Passes passes(spec, [](int, const Passes&) { return true; });
  for (int i = 0; i < spec.input_count(); ++i) {
    const bool is_ahead = std::find(arrays.begin(), arrays.end(), i) != arrays.end(), may_be_early = tile.form == Form::kColumns && access_of(tile, i) == Access::kSteady;
    if (is_ahead ? tile.vector * spec.element_bytes(i) < kLeastFetch : is_moved(access_of(tile, i)) && !spec.is_ordinals(i) && !((may_be_early || passes.is_read_late(i)) && is_read_often(geometry, i))) return false;
  }
  return !arrays.empty() && arrays.size() <= kMostArraysAhead;
}

/// Whether an array does not lie along the tile's neighbours: lines of the cache are then read or written in parts.
bool is_in_parts(const Layout& tile) {
  return std::any_of(tile.access.begin(), tile.access.end(), [](Access access) { return access == Access::kStrided; });
}

/// Blocks that stay: their threads, words of a row's elements that each may hold, bytes of a tile that lie beside each other, and how many a multiprocessor has.
struct TileStayers {
  int threads, words, bytes, residents;
};
constexpr TileStayers kStayersInParts[] = {{512, 64, kLineBytes / 2, 1}};
constexpr TileStayers kStayersOfShorts[] = {{512, 64, kLineBytes, 1}};
constexpr TileStayers kStayersOfPieces[] = {{512, 32, kLineBytes, 2}, {1024, 32, kLineBytes, 1}};
constexpr TileStayers kStayersOfColumns[] = {{1024, 32, 2 * kLineBytes, 1}, {1024, 32, kLineBytes, 1}};

std::span<const TileStayers> stayers_of(const KernelSpec& spec, const Layout& tile) {
  if (is_in_parts(tile)) return kStayersInParts;
  const std::vector<int> arrays = arrays_ahead(spec, tile);
  if (std::all_of(arrays.begin(), arrays.end(), [&](int i) { return spec.element_bytes(i) < 4; })) return kStayersOfShorts;
  return tile.form == Form::kRows ? std::span<const TileStayers>(kStayersOfPieces) : kStayersOfColumns;
}

/// The tile of a cluster as one of blocks, or of clusters, that stay, if they hold it. vectors: of a row.
bool stay(const KernelSpec& spec, Layout& tile, const Geometry& geometry, std::int64_t vectors, const Processors& processors) {
  if (!writes_elements(spec) || !can_be_asked_for(spec, tile, geometry)) return false;
  const int words = std::max(words_of_place(spec, tile), (bytes_wanted_again(spec, tile) + 3) / 4);  // what the last pass alone reads is there a vector at a time
  Layout stays = tile;
  for (const TileStayers& stayers : stayers_of(spec, tile)) {
    stays.residents = stayers.residents;
    stays.beside = beside_of(spec, tile, geometry, stayers.bytes);
    stays.lanes = stayers.threads / stays.beside;
    for (stays.cluster = 1; stays.cluster <= processors.cluster; stays.cluster *= 2) {
      stays.items = static_cast<int>(divide_up(vectors, std::int64_t{stays.lanes} * stays.cluster));
      if (stays.items * stays.vector * words > stayers.words || registers_of_tile(spec, stays, words) > kRegisters / (stayers.threads * stayers.residents)) continue;
      const std::size_t met = tile_meeting_bytes(spec, stays), share = processors.shared_bytes / static_cast<std::size_t>(stayers.residents), room = share - std::min(share, met);
      stays.ahead = static_cast<int>(std::min<std::size_t>(room / ahead_bytes(spec, stays), kMostAhead));
      const bool many = divide_up(geometry.count, std::int64_t{stays.beside} * rows_of_thread(stays)) * stays.cluster >= kRowsToStay * processors.count * stayers.residents;
      if (met > kColumnSharedBytes || stays.ahead == 0) continue;
      if (many) tile = stays;
      return many;
    }
  }
  return false;
}

/// Whether a cluster that holds a tile is worth its meetings: multiprocessors hold much, or all tiles at once, or else lines of the cache would be read or written in parts.
bool is_worth_a_cluster(const KernelSpec& spec, const Layout& tile, std::int64_t tiles, const Processors& processors) {
  const std::int64_t threads = std::int64_t{tile.residents} * reducing_block(tile);
  return tile.form == Form::kRows || is_in_parts(tile) || threads * tile.items * tile.vector * bytes_read(spec, tile) > kBytesOfTiles || tiles * tile.cluster <= std::int64_t{processors.count} * tile.residents;
}

}  // namespace

bool lies_in_pieces(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  if (layout.form == Form::kColumns || layout.reduced_rank < 2 || layout.ends == Ends::kAnywhere) return false;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (access_of(layout, i) != Access::kRow) continue;
    const auto at = static_cast<std::size_t>(i);
    const std::int64_t piece = geometry.reduced.extents[-1], next = std::abs(geometry.reduced.strides[at][-2]), row = std::abs(geometry.strides[at][-1]);
    if (piece * spec.element_bytes(i) < kLineBytes && row < next && row < 2 * piece) return true;
  }
  return false;
}

int bytes_together(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  int widest = 1;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (is_moved(access_of(layout, i))) widest = std::max(widest, spec.element_bytes(i));
  }
  return widest * (layout.form == Form::kColumns ? layout.vector : static_cast<int>(geometry.reduced.extents[-1]));
}

std::size_t tile_meeting_bytes(const KernelSpec& spec, const Layout& tile) {
  const std::int64_t values = std::int64_t{tile.beside} * rows_of_thread(tile), warps = reducing_block(tile) / 32;
  std::int64_t bytes = 0;
  each_accumulator(spec, [&](const Join& join) { bytes += ((values + 1) * warps + 2 * values) * join.bytes + 2 * values * tile.cluster * divide_up(join.bytes, 8) * 8; });
  return kSharedOfMeetings + static_cast<std::size_t>(bytes);
}

bool hold_tile(const KernelSpec& spec, Layout& layout, const Geometry& geometry, std::int64_t length, const Processors& processors, const AskedRows& asked) {
  if (!goes_again(spec) || spec.joins_across() || spec.users_text) return false;
  const bool columns = layout.form == Form::kColumns;
  const std::int64_t vectors = divide_up(length, columns ? 1 : layout.vector);
  const int most = std::max(kMostWordsHeld / (words_wanted_again(spec, layout) * layout.vector), 1);
  Layout tile = layout;
  tile.whole = true;
  const auto fits = [&](int bytes, int threads, int cluster) {
    tile.beside = beside_of(spec, layout, geometry, bytes);
    tile.lanes = asked.lanes > 0 ? std::min(asked.lanes, kMostLanes / tile.beside) : threads / tile.beside;
    tile.cluster = asked.cluster > 0 ? std::min(asked.cluster, processors.cluster) : cluster;
    tile.items = static_cast<int>(divide_up(vectors, std::int64_t{tile.lanes} * tile.cluster));
    const std::int64_t values = tile.beside * rows_of_thread(tile) * (reducing_block(tile) / 32 + tile.cluster);
    return tile.items <= most && reducing_block(tile) >= 32 && (asked.lanes > 0 || writes_enough(spec, layout, geometry, bytes)) && partial_bytes(spec) * static_cast<std::size_t>(values) <= kColumnSharedBytes;
  };
  const auto found = [&] {
    if (fits(kLineBytes, kReducingBlock, 1)) return true;
    for (int cluster = 1; cluster <= processors.cluster; cluster *= 2) {
      if (fits(kLineBytes / 2, kReducingBlock, cluster)) return true;
    }
    return fits(kLineBytes / 2, 2 * kReducingBlock, processors.cluster) || fits(kLineBytes / 4, 2 * kReducingBlock, processors.cluster) || fits(kLineBytes / 4, kMostLanes, processors.cluster);
  };
  if (!found()) return false;
  const bool is_free = asked.lanes + asked.cluster + asked.residents == 0;
  if (tile.cluster > 1 && is_free && stay(spec, tile, geometry, vectors, processors)) {
    layout = tile;
    return true;
  }
  tile.residents = asked.residents > 0 ? asked.residents : residents_of_tile(spec, tile);
  if (tile.cluster > 1 && asked.cluster == 0 && !is_worth_a_cluster(spec, tile, divide_up(geometry.count, tile.beside * rows_of_thread(tile)), processors)) return false;
  layout = tile;
  return true;
}

}  // namespace damo
