#include "runtime/cpu/dialect.hpp"

#include <algorithm>

#include "runtime/cpu/emitter.hpp"
#include "runtime/cpu/host_cache.hpp"
#include "runtime/cpu/reducing_emitter.hpp"
#include "runtime/cpu/scan_emitter.hpp"
#include "runtime/kernel/passes.hpp"

namespace damo {
namespace {

constexpr std::int64_t kTask = 16384;  // elements: enough that handing a task to a thread does not show
constexpr std::int64_t kManyTasks = 64;
constexpr std::int64_t kNearBytesOfTask = 512 << 10;  // a second-level cache, and no more than a thread's stack has

/// Whether partial values side by side vectorise: a struct does not, unless its members are known.
bool joins_numbers(const KernelSpec& spec) {
  bool numbers = true;
  each_accumulator(spec, [&](const Join& join) { numbers &= join.accumulator.empty() || join.bytes == 1 || !join.members.empty(); });
  return numbers;
}

int cpu_lanes(const KernelSpec& spec, const Layout& layout, std::int64_t run) {
  const bool numbers = joins_numbers(spec);
  int joins = 0;
  each_accumulator(spec, [&](const Join&) { ++joins; });
  if (layout.form == Form::kColumns) return numbers && joins == 1 && kept_bytes(spec) == 0 ? 2048 : 256;
  if (run < kCpuRun) return 1;
  return !numbers ? 4 : run < kCpuRun * kCpuShortLanes ? kCpuShortLanes : 64;
}

constexpr std::int64_t kTurnedBytes = 32 << 10;  // of all tiles together: a first-level cache
constexpr std::int64_t kFewestTurned = 32;       // rows at a time

/// Rows at a time that are too short for partial values side by side and so are gone through as columns are; 0: a row after another. Their elements go through
/// tiles. Each row is joined as it would be alone.
std::int64_t turned_rows(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  const std::int64_t length = geometry.reduced.count;
  const bool is_short = layout.form == Form::kRows && layout.reduced_rank == 1 && length > 1 && length < kCpuRun && geometry.extents[-1] >= kFewestTurned;
  if (!is_short || spec.scans() || spec.joins_across() || spec.users_text || !joins_numbers(spec)) return 0;  // what turns tiles is not for users' CUDA C
  auto bytes = static_cast<std::int64_t>(kept_bytes(spec));
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (layout.access[static_cast<std::size_t>(i)] == Access::kRow) bytes += spec.element_bytes(i);
  }
  std::int64_t rows = 4 * kFewestTurned;
  while (rows > kFewestTurned && rows * bytes * kCpuRun > kTurnedBytes) rows /= 2;
  return rows * bytes * kCpuRun <= kNearBytesOfTask ? rows : 0;
}

bool stores_elements(const KernelSpec& spec) {
  const Passes passes(spec, [](int, const Passes&) { return false; });
  return std::any_of(passes.all().begin(), passes.all().end(), [](const Passes::Pass& pass) { return !pass.stores.empty(); });
}

/// The layout of rows that are gone through as columns.
Layout turned(const KernelSpec& spec, Layout layout, const Geometry& geometry, std::int64_t rows) {
  mark_every_row(layout, geometry, spec.input_count());
  layout.form = Form::kColumns;
  layout.lanes = static_cast<int>(rows);
  layout.turned = true;
  layout.whole = kept_bytes(spec) > 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    Access& access = layout.access[static_cast<std::size_t>(i)];
    if (access == Access::kRow) access = spec.is_ordinals(i) ? Access::kStrided : Access::kTransposed;
  }
  return layout;
}

constexpr std::int64_t kFewestLanes = 64;  // columns of a task, of rows in pieces: some lines of the cache

/// Whether rows are short pieces that lie beside those of the next rows, as those of a group norm whose channels are the last axis: then a piece is gone through as so many columns, which are
/// joined at the end. Row by row each line of the cache is read for each row that has a part of it.
bool in_pieces(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  const std::int64_t piece = geometry.reduced.extents[-1];
  if (layout.form != Form::kRows || layout.reduced_rank < 2 || piece < 2 || piece >= kCpuRun || geometry.extents[-1] * piece < kFewestTurned) return false;
  if (spec.scans() || spec.joins_across() || spec.users_text || spec.uses_place() || !joins_numbers(spec)) return false;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const std::int64_t kept = geometry.strides[static_cast<std::size_t>(i)][-1], reduced = geometry.reduced.strides[static_cast<std::size_t>(i)][-1];
    const bool is_row = spec.is_output(i) ? layout.access[static_cast<std::size_t>(i)] == Access::kRepeat || layout.access[static_cast<std::size_t>(i)] == Access::kScalar : spec.is_row(i) || spec.is_value(i);
    if (!is_row && kept != reduced * piece) return false;
  }
  return true;
}

/// The layout of such rows.
Layout pieces(const KernelSpec& spec, Layout layout, const Geometry& geometry) {
  layout.form = Form::kColumns;
  layout.pieces = true;
  layout.lanes = cpu_lanes(spec, layout, 1);
  const std::int64_t row = geometry.extents[-1] * geometry.reduced.extents[-1], outer = geometry.count / geometry.extents[-1];
  while (layout.lanes > kFewestLanes && outer * divide_up(row, layout.lanes) < kManyTasks) layout.lanes /= 2;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    Access& access = layout.access[static_cast<std::size_t>(i)];
    const bool is_element = spec.is_output(i) ? access != Access::kRepeat && access != Access::kScalar : !spec.is_row(i) && !spec.is_value(i);
    if (is_element && !is_scalar(access) && geometry.reduced.strides[static_cast<std::size_t>(i)][-1] == 0) access = Access::kSteady;
  }
  return layout;
}

/// Kernels of several passes keep their rows whole: only values of one pass can be joined by a second launch.
Work reducing_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  Work work;
  const std::int64_t piece = layout.pieces ? geometry.reduced.extents[-1] : 1, outputs = geometry.count, length = geometry.reduced.count / piece, kept = std::max<std::int64_t>(geometry.extents[-1], 1), row = kept * piece;
  const bool columns = layout.form == Form::kColumns;
  const std::int64_t lanes = layout.lanes / piece * piece, width = columns ? std::min(lanes, row) : 1;
  const std::int64_t tasks = columns ? outputs / kept * divide_up(row, lanes) : outputs;
  work.chunk = std::max<std::int64_t>(length, 1);
  // A reduction of few rows is cut into chunks, so that there is work for every thread; their number must not follow the
  // number of threads, or sums would.
  if (tasks < kManyTasks && joins_in_one_pass(spec)) work.chunk = std::max<std::int64_t>(kTask / width, 64);
  work.chunks = std::max<std::int64_t>(divide_up(length, work.chunk), 1);
  if (!columns && work.chunks == 1) work.tile = std::max<std::int64_t>(kTask / work.chunk, 1);
  if (layout.turned) work.tile = std::max<std::int64_t>(kTask / (work.chunk * layout.lanes), 1);
  work.launches.push_back({0, {{divide_up(tasks, work.tile) * work.chunks}, {1}}});
  if (work.chunks == 1) return work;
  work.launches.push_back({1, {{divide_up(outputs, columns ? kCpuAcrossColumns : work.tile)}, {1}}});
  work.scratch_bytes = static_cast<std::size_t>(outputs * work.chunks) * partial_bytes(spec) + 128 * spec.steps.size();
  return work;
}

constexpr std::int64_t kRowsHeld = 1024;             // that a task joins across at most, so that the error of a sum grows slowly
constexpr std::int64_t kFewestRowsHeld = 4;          // so that what tasks hold is little beside the arrays
constexpr std::int64_t kBytesHeld = std::int64_t{1} << 18;  // of a task: half a second-level cache

/// Of the shape alone: by the number of threads sums would follow it.
Work across_work(const KernelSpec& spec, const Geometry& geometry) {
  Work work;
  const std::int64_t rows = geometry.count, length = geometry.reduced.count, batches = rows / std::max<std::int64_t>(geometry.joined, 1);
  work.tile = std::clamp(divide_up(rows, kManyTasks), kFewestRowsHeld, kRowsHeld);
  work.chunk = length;
  work.chunks = divide_up(geometry.joined, work.tile);
  work.launches.push_back({0, {{batches * work.chunks}, {1}}});
  work.launches.push_back({1, {{divide_up(batches * length, kCpuAcrossColumns)}, {1}}});
  work.scratch_bytes = static_cast<std::size_t>(batches * work.chunks * length) * across_bytes(spec) + 128 * spec.steps.size();
  return work;
}

constexpr std::int64_t kScanChunk = 32768;  // elements: they stay in the second-level cache while a task reads them twice
constexpr int kScanLanes = 1024;

Work scan_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  Work work;
  const bool columns = layout.form == Form::kColumns;
  const std::int64_t outputs = geometry.count, length = std::max<std::int64_t>(geometry.reduced.count, 1), row = std::max<std::int64_t>(geometry.extents[-1], 1);
  const std::int64_t tasks = columns ? outputs / row * divide_up(row, layout.lanes) : outputs;
  work.chunk = length;
  // As reducing_work's: not by the number of threads.
  if (tasks < kManyTasks) work.chunk = columns ? std::max<std::int64_t>(kScanChunk / std::min<std::int64_t>(layout.lanes, row), 64) : kScanChunk;
  work.chunks = divide_up(length, work.chunk);
  if (work.chunks == 1) {
    work.tile = columns ? 1 : std::max<std::int64_t>(kTask / length, 1);
    work.launches.push_back({0, {{divide_up(tasks, work.tile)}, {1}}});
    return work;
  }
  work.tile = tasks;
  work.launches.push_back({0, {{tasks * work.chunks}, {1}}});
  work.zeroed_bytes = static_cast<std::size_t>(8 + (tasks * work.chunks + 1) / 2) * sizeof(std::int64_t);
  work.scratch_bytes = work.zeroed_bytes + static_cast<std::size_t>(outputs * work.chunks) * partial_bytes(spec);
  return work;
}

/// Whether a task holds the dear values of its row, or of its columns.
bool holds(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  if (spec.scans() || spec.users_text) return false;
  const std::int64_t bytes = CpuReducingEmitter::held_bytes(spec, layout, geometry);
  return bytes > 0 && bytes <= kCpuHeldBytes;
}

class CpuDialect final : public Dialect {
 public:
  std::string_view name() const override { return "cpu"; }

  Layout adapt(const KernelSpec&, Layout layout) const override {
    layout.wide = true;  // 64-bit indices cost nothing in a loop over pointers
    return layout;
  }

  Layout share_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors&) const override {
    if (const std::int64_t rows = turned_rows(spec, layout, geometry); rows > 0) return turned(spec, std::move(layout), geometry, rows);
    if (in_pieces(spec, layout, geometry)) {
      layout = pieces(spec, std::move(layout), geometry);
    } else {
      if (!spec.scans() && !joins_in_one_pass(spec)) mark_every_row(layout, geometry, spec.input_count());
      mark_steady(layout, geometry, spec.input_count());
      layout.lanes = spec.scans() ? kScanLanes : cpu_lanes(spec, layout, geometry.reduced.extents[-1]);
    }
    layout.whole = holds(spec, layout, geometry);
    if (spec.joins_across()) return layout;
    layout.chunked = (spec.scans() ? scan_work(spec, layout, geometry) : reducing_work(spec, layout, geometry)).chunks > 1;
    return layout;
  }

  /// Few long rows leave threads idle. Columns whose elements are stored, and whose dear values are not held, go through memory once a pass whatever is done, where a task's do not stay in the
  /// second-level cache: a kernel a pass goes through them in longer stretches, and stores past the caches what one kernel would keep where results will be (docs/performance.md). Where nothing is
  /// stored element by element there is nothing to keep.
  bool prefers_passes(const KernelSpec& spec, const Geometry& geometry, const Processors&) const override {
    const std::int64_t rows = geometry.count, length = geometry.reduced.count;
    if (spec.scans_alone() || rows * length < kLongRow || joins_in_one_pass(spec)) return false;
    if (rows < kManyTasks) return true;
    Layout layout = classify_reducing(geometry);
    if (layout.form != Form::kColumns) return false;
    layout.lanes = cpu_lanes(spec, layout, length);
    int bytes = 0;
    for (int i = 0; i < spec.input_count(); ++i) bytes += layout.access[static_cast<std::size_t>(i)] == Access::kRow ? spec.element_bytes(i) : 0;
    return stores_elements(spec) && length * bytes * layout.lanes > kNearBytesOfTask && !holds(spec, layout, geometry);
  }

  bool joins_across(const KernelSpec& spec, const Geometry& geometry, const Processors&) const override {
    return classify_reducing(geometry).form == Form::kRows && geometry.reduced.count * static_cast<std::int64_t>(across_bytes(spec)) <= kBytesHeld;
  }

  bool leaves_elements() const override { return true; }

  bool copies_first() const override { return true; }

  std::string emit(const KernelSpec& spec, const Layout& layout) const override {
    if (layout.form == Form::kElements) return CpuEmitter(spec, layout).emit();
    return spec.scans() ? CpuScanEmitter(spec, layout).emit() : CpuReducingEmitter(spec, layout).emit();
  }

  Work work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors&) const override {
    if (spec.scans()) return scan_work(spec, layout, geometry);
    if (layout.form != Form::kElements) {
      Work work = spec.joins_across() ? across_work(spec, geometry) : reducing_work(spec, layout, geometry);
      if (layout.whole && !layout.turned) work.launches[0].config.shared_bytes = static_cast<std::size_t>(CpuReducingEmitter::held_bytes(spec, layout, geometry));
      return work;
    }
    if (layout.tile_axis < 0) return one_launch({{divide_up(geometry.count, cpu_chunk(spec))}, {1}});
    const std::int64_t inner = geometry.extents[-1], other = geometry.extents[layout.tile_axis];
    const std::int64_t outer = geometry.count / std::max<std::int64_t>(inner * other, 1);
    return one_launch({{divide_up(inner, kCpuTile) * divide_up(other, kCpuTile) * outer}, {1}});
  }

  int vector_width(const KernelSpec& spec, const Layout&) const override { return cpu_vector(spec); }
  bool streams(std::size_t bytes) const override { return bytes >= cpu_backend::last_level_cache(); }
};

}  // namespace

const Dialect& cpu_dialect() {
  static const CpuDialect dialect;
  return dialect;
}

}  // namespace damo
