#include "runtime/cuda/dialect.hpp"

#include "runtime/cuda/emitter.hpp"
#include "runtime/cuda/schedule.hpp"

namespace damo {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class CudaDialect final : public Dialect {
 public:
  std::string_view name() const override { return "cuda"; }

  std::string emit(const KernelSpec& spec, const Layout& layout) const override {
    for (const Override& by_hand : spec.overrides) {
      if (by_hand.dialect == name()) return by_hand.text(layout);
    }
    return CudaEmitter(spec, layout).emit();
  }

  LaunchConfig launch(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) const override {
    const CudaSchedule schedule = cuda_schedule(spec);
    if (layout.tile_axis < 0) return {{divide_up(geometry.count, schedule.elements_per_block())}, {schedule.block}};
    const std::int64_t inner = geometry.extents[-1], other = geometry.extents[layout.tile_axis];
    const std::int64_t outer = geometry.count / std::max<std::int64_t>(inner * other, 1);
    return {{divide_up(inner, kTile) * divide_up(other, kTile) * outer}, {kTile * kTileRows}};
  }

  int vector_width(const KernelSpec& spec) const override { return cuda_schedule(spec).vector; }
};

}  // namespace

const Dialect& cuda_dialect() {
  static const CudaDialect dialect;
  return dialect;
}

}  // namespace damo
