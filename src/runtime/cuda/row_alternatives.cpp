#include "runtime/cuda/row_alternatives.hpp"

#include <algorithm>
#include <cmath>

#include "graph/base/environment.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/reducing_vectors.hpp"
#include "runtime/cuda/run_schedule.hpp"
#include "runtime/cuda/schedule.hpp"
#include "runtime/cuda/staying_rows.hpp"
#include "runtime/cuda/tile_schedule.hpp"
#include "runtime/kernel/own_maximum.hpp"
#include "runtime/kernel/passes.hpp"
#include "runtime/kernel/pressure.hpp"
#include "runtime/kernel/spec_kernel.hpp"

namespace damo {
namespace {

constexpr double kBytesOfANanosecond = 24;        // of a multiprocessor
constexpr double kBytesOnTheirWay = 48 * 1024;    // of a multiprocessor, at least
constexpr double kNanosecondsOfACycle = 0.6;
constexpr double kLaunch = 2;  // microseconds
constexpr int kMostResidents = 32;
constexpr int kMostRowsAhead = 3;
constexpr int kMostRowsOfAThread = 16, kBlocksOfShared = 4;  // of runs of short rows, and of their blocks that are to be resident
constexpr std::size_t kSharedBesideRows = 4 * 1024;  // of a block that reads ahead: what its threads and blocks give each other

double count_of(const Geometry& geometry) { return static_cast<double>(geometry.count) * static_cast<double>(std::max<std::int64_t>(geometry.reduced.count, 1)); }

double memory_microseconds(double bytes, const Processors& processors) { return bytes / (processors.count * kBytesOfANanosecond) / 1000; }

double arithmetic_microseconds(const KernelSpec& spec, double elements, const Processors& processors) {
  return elements * spec.cost() / (processors.count * kLanesOfAMultiprocessor) * kNanosecondsOfACycle / 1000;
}

/// Registers of a thread's elements of a row that is held.
int registers_of_row(const KernelSpec& spec, const Layout& layout) { return layout.whole ? layout.items * layout.vector * words_of_place(spec, layout) : 0; }

/// Of shared memory of a block.
int bytes_of_runs(const KernelSpec& spec, const Layout& layout) { return run_bytes(spec, layout) * (reducing_block(layout) / 32); }

/// Blocks that a multiprocessor has at once: as the compiler is told, or as registers that the values take, and runs in shared memory, leave room for.
int residents_of(const KernelSpec& spec, const Layout& layout, const Processors& processors) {
  if (layout.residents > 0) return layout.residents;
  const int most = layout.rows_each > 0 ? static_cast<int>(processors.shared_bytes) / bytes_of_runs(spec, layout) : kMostResidents;
  const int registers = std::min(kOwnRegisters + registers_of_row(spec, layout) + words_held(spec), 255);
  return std::clamp(std::min(kRegisters / registers, kThreadsOfAMultiprocessor) / reducing_block(layout), 1, std::clamp(most, 1, kMostResidents));
}

/// Of what blocks take that go over their rows in turn, or come and go.
double factor_of_waves(const Layout& layout, const Geometry& geometry, const Work& work, const Processors& processors, int residents) {
  const LaunchConfig& config = work.launches[0].config;
  const double blocks = static_cast<double>(config.grid[0] * config.grid[1]);
  if (layout.ahead > 0) {
    const double each = static_cast<double>(geometry.count) * layout.cluster / blocks;
    return std::ceil(each) / each;
  }
  if (blocks < processors.count) return processors.count / blocks;
  const double waves = blocks / (static_cast<double>(processors.count) * residents);
  return waves > 1 ? (waves + 0.5) / waves : 1;
}

Layout with(Layout layout, int Layout::*member, int value) {
  layout.*member = value;
  return layout;
}

/// How often the order of the model's schedules is theirs, and what they take of memory and registers fits.
class Alternatives {
 public:
  Alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors)
      : spec_(spec), geometry_(geometry), processors_(processors), order_(join_order(spec, layout, geometry, processors)) {
    guesses_.push_back({layout, predicted_microseconds(spec, layout, geometry, processors)});
  }

  void add(const Layout& layout) {
    const Layout& first = guesses_[0].layout;
    const bool is_new = std::none_of(guesses_.begin(), guesses_.end(), [&](const ScheduleGuess& guess) { return guess.layout == layout; });
    if (!is_new || !(join_order(spec_, layout, geometry_, processors_) == order_) || layout.chunked != first.chunked) return;
    guesses_.push_back({layout, predicted_microseconds(spec_, layout, geometry_, processors_)});
  }

  std::vector<ScheduleGuess> take() { return std::move(guesses_); }

 private:
  const KernelSpec& spec_;
  const Geometry& geometry_;
  const Processors& processors_;
  JoinOrder order_;
  std::vector<ScheduleGuess> guesses_;
};

}  // namespace

JoinOrder join_order(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  const Work work = reducing_cuda_work(spec, layout, geometry, processors);
  JoinOrder order;
  order.vector = layout.vector;
  order.lanes = layout.lanes;
  order.block = reducing_block(layout);
  order.cluster = layout.cluster;
  order.columns = layout.form == Form::kColumns;
  order.beside = layout.beside;
  order.anywhere = layout.ends == Ends::kAnywhere;
  order.pairs_warps = layout.ahead > 0;
  order.own_maximum = layout.ahead > 0 && layout.cluster > 1 && !spec.joins_across() && own_maximum(spec, Passes(spec, [](int, const Passes&) { return true; }));
  order.run = layout.whole ? layout.items : vectors_of_a_sum(layout);
  each_accumulator(spec, [&](const Join& join) { order.group = std::max(order.group, vectors_of_a_group(join, layout)); });
  order.chunk = work.chunk;
  order.chunks = work.chunks;
  return order;
}

double predicted_microseconds(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  const Work work = reducing_cuda_work(spec, layout, geometry, processors);
  const int residents = residents_of(spec, layout, processors);
  const double bytes = static_cast<double>(bytes_of(spec, geometry)) + 2 * static_cast<double>(work.scratch_bytes);
  const double of_thread = static_cast<double>(layout.items * layout.vector * bytes_read(spec, layout)) * std::max({layout.ahead, layout.rows_each, 1});
  const double starving = std::max(kBytesOnTheirWay / (of_thread * residents * reducing_block(layout)), 1.0);
  const double memory = memory_microseconds(bytes, processors) * starving * factor_of_waves(layout, geometry, work, processors, residents);
  return std::max(memory, arithmetic_microseconds(spec, count_of(geometry), processors)) + kLaunch * static_cast<double>(work.launches.size());
}

std::vector<ScheduleGuess> row_alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  Alternatives all(spec, layout, geometry, processors);
  if (spec.scans_alone() || !environment("DAMO_CUDA_ROWS").empty()) return all.take();
  if (layout.ahead > 0) {
    const std::size_t blocks = static_cast<std::size_t>(std::max(layout.residents, 1)), beside_rows = layout.beside > 0 ? tile_meeting_bytes(spec, layout) : shared_bytes_of_rows(spec, layout) + kSharedBesideRows;
    for (int ahead = 1; ahead <= kMostRowsAhead; ++ahead) {
      if (blocks * (static_cast<std::size_t>(ahead) * ahead_bytes(spec, layout) + beside_rows) <= processors.shared_bytes) all.add(with(layout, &Layout::ahead, ahead));
    }
  } else if (layout.rows_each > 0) {
    for (int rows : {layout.rows_each * 2, layout.rows_each / 2}) {
      const Layout other = with(layout, &Layout::rows_each, rows);
      if (rows >= 1 && rows <= kMostRowsOfAThread && bytes_of_runs(spec, other) <= static_cast<int>(processors.shared_bytes) / kBlocksOfShared) all.add(other);
    }
  } else if (layout.whole && !spec.joins_across()) {
    const int residents = residents_of(spec, layout, processors), block = reducing_block(layout);
    const int least = kLeastOwnRegisters + registers_of_row(spec, layout);
    for (int other : {residents + 1, residents, residents - 1, residents + 2, residents - 2}) {
      if (other >= 1 && other <= kMostResidents && other * block <= kThreadsOfAMultiprocessor && kRegisters / (other * block) >= least) all.add(with(layout, &Layout::residents, other));
    }
  } else if (!layout.whole) {
    for (int items : {layout.items * 2, layout.items / 2, layout.items * 4}) {
      if (items < 1 || items > 8) continue;
      Layout other = with(layout, &Layout::items, items);
      // Rows that fill the threads' vectors with so many of them need not with more.
      if (other.ends == Ends::kTiles && items > layout.items) other.ends = Ends::kVectors;
      all.add(other);
    }
  }
  return all.take();
}

std::vector<ScheduleGuess> tile_alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) {
  const double elements = static_cast<double>(geometry.count);
  const auto guess = [&](const Layout& tiled) {
    const CudaTile tile = cuda_tile(spec, tiled);
    const auto inner = geometry.extents[-1], other = geometry.extents[layout.tile_axis];
    const double whole = static_cast<double>(divide_up(inner, tile.inner) * tile.inner * divide_up(other, tile.other) * tile.other) / static_cast<double>(std::max<std::int64_t>(inner * other, 1));
    const double memory = memory_microseconds(static_cast<double>(bytes_of(spec, geometry)), processors) * whole;
    return ScheduleGuess{tiled, std::max(memory, arithmetic_microseconds(spec, elements * whole, processors)) + kLaunch};
  };
  std::vector<ScheduleGuess> all{guess(layout)};
  if (spec.loop || layout.tile_inner + layout.tile_other > 0 || !environment("DAMO_CUDA_TILE").empty()) return all;
  const CudaTile first = cuda_tile(spec, layout);
  for (int tiling = 1; tiling <= kCudaTilings; ++tiling) {
    const Layout other = with(layout, &Layout::tiling, tiling);
    if (const CudaTile tile = cuda_tile(spec, other); tile.fits && !(tile == first)) all.push_back(guess(other));
  }
  return all;
}

}  // namespace damo
