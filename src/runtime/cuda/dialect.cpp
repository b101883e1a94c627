#include "runtime/cuda/dialect.hpp"

#include <algorithm>

#include "runtime/cuda/emitter.hpp"
#include "runtime/cuda/flat_schedule.hpp"
#include "runtime/cuda/reducing_emitter.hpp"
#include "runtime/cuda/reducing_schedule.hpp"
#include "runtime/cuda/row_alternatives.hpp"
#include "runtime/cuda/run_schedule.hpp"
#include "runtime/cuda/scan_emitter.hpp"
#include "runtime/cuda/scan_schedule.hpp"
#include "runtime/cuda/schedule.hpp"

namespace damo {
namespace {

class CudaDialect final : public Dialect {
 public:
  std::string_view name() const override { return "cuda"; }

  /// Arrays whose tiles do not fit shared memory are read where they lie.
  Layout adapt(const KernelSpec& spec, Layout layout) const override {
    if (layout.tile_axis < 0 || cuda_tile(spec, layout).fits) return layout;
    layout.tile_axis = -1, layout.tile_inner = layout.tile_other = 0;
    std::replace(layout.access.begin(), layout.access.end(), Access::kTransposed, Access::kStrided);
    return layout;
  }

  std::int64_t shortest_tile() const override { return 2; }

  Layout lay_flat(const KernelSpec& spec, Layout layout, const Geometry& geometry) const override {
    if (layout.tile_axis >= 0) {
      layout = damo::lay_flat(spec, std::move(layout), geometry);
      if (layout.places == 0) layout.vector = tile_vector(spec, layout, geometry);
      return layout;
    }
    Layout interleaved = mark_interleaved(spec, layout, geometry);
    const bool serves = interleaved != layout && begin_aligned(spec, interleaved, geometry, cuda_schedule(spec, interleaved).vector);
    return serves ? interleaved : layout;
  }

  bool prefers_passes(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) const override {
    return prefers_cuda_passes(spec, geometry, processors);
  }

  bool prefers_one_reading(const KernelSpec& spec, const KernelSpec& form, const Geometry& geometry, const Processors& processors) const override {
    return prefers_one_cuda_reading(spec, form, geometry, processors);
  }

  bool joins_across(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) const override {
    return joins_cuda_across(spec, geometry, processors);
  }

  bool scans_rows(const KernelSpec& spec, const Geometry& geometry, const Processors& processors) const override {
    return scans_cuda_rows(spec, geometry, processors);
  }

  bool seeks_elements() const override { return true; }

  bool finds_frames() const override { return true; }

  std::string emit(const KernelSpec& spec, const Layout& layout) const override {
    if (layout.form == Form::kElements) return CudaEmitter(spec, layout).emit();
    return spec.scans_alone() ? CudaScanEmitter(spec, layout).emit() : CudaReducingEmitter(spec, layout).emit();
  }

  Layout share_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors) const override {
    if (spec.scans_alone()) return share_cuda_scan(spec, std::move(layout), geometry, processors);
    return share_cuda_rows(spec, std::move(layout), geometry, processors);
  }

  std::vector<ScheduleGuess> alternatives(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) const override {
    if (layout.form != Form::kElements) return row_alternatives(spec, layout, geometry, processors);
    return layout.tile_axis >= 0 ? tile_alternatives(spec, layout, geometry, processors) : Dialect::alternatives(spec, layout, geometry, processors);
  }

  Work work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors) const override {
    if (spec.scans_alone()) return scan_cuda_work(spec, layout, geometry);
    if (layout.form != Form::kElements) return reducing_cuda_work(spec, layout, geometry, processors);
    if (layout.places > 0) return flat_cuda_work(spec, layout, geometry);
    const CudaSchedule schedule = cuda_schedule(spec, layout);
    if (layout.tile_axis < 0) return one_launch({{divide_up(geometry.count, schedule.elements_per_block())}, {schedule.block}});
    const std::int64_t inner = geometry.extents[-1], other = geometry.extents[layout.tile_axis];
    const std::int64_t outer = geometry.count / std::max<std::int64_t>(inner * other, 1);
    const CudaTile tile = cuda_tile(spec, layout);
    return one_launch({{divide_up(inner, tile.inner) * divide_up(other, tile.other) * outer}, {tile.threads}});
  }

  std::optional<Layout> unaligned(const Layout& layout) const override {
    const bool is_interleaved = std::find(layout.access.begin(), layout.access.end(), Access::kInterleaved) != layout.access.end();
    const bool asks = (layout.form == Form::kElements && layout.places == 0 && layout.tile_axis < 0 && !is_interleaved) || (layout.form == Form::kRows && layout.ends == Ends::kAnywhere);
    if (asks || (layout.vector == 1 && layout.rows_each == 0 && !is_interleaved)) return std::nullopt;
    Layout other = layout;
    other.aligned = false;
    return other;
  }

  int vector_width(const KernelSpec& spec, const Layout& layout) const override {
    if (layout.rows_each > 0) return width_of_runs(spec, layout);
    return layout.form == Form::kElements && layout.tile_axis < 0 ? cuda_schedule(spec, layout).vector : layout.vector;
  }
};

}  // namespace

const Dialect& cuda_dialect() {
  static const CudaDialect dialect;
  return dialect;
}

}  // namespace damo
