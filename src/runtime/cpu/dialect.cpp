#include "runtime/cpu/dialect.hpp"

#include <algorithm>

#include "runtime/cpu/emitter.hpp"
#include "runtime/cpu/host_cache.hpp"

namespace damo {
namespace {

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class CpuDialect final : public Dialect {
 public:
  std::string_view name() const override { return "cpu"; }

  Layout adapt(const KernelSpec&, Layout layout) const override {
    layout.wide = true;  // 64-bit indices cost nothing in a loop over pointers
    return layout;
  }

  std::string emit(const KernelSpec& spec, const Layout& layout) const override {
    return CpuEmitter(spec, layout).emit();
  }

  LaunchConfig launch(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) const override {
    if (layout.tile_axis < 0) return {{divide_up(geometry.count, cpu_chunk(spec))}, {1}};
    const std::int64_t inner = geometry.extents[-1], other = geometry.extents[layout.tile_axis];
    const std::int64_t outer = geometry.count / std::max<std::int64_t>(inner * other, 1);
    return {{divide_up(inner, kCpuTile) * divide_up(other, kCpuTile) * outer}, {1}};
  }

  int vector_width(const KernelSpec& spec) const override { return cpu_vector(spec); }
  bool streams(std::size_t bytes) const override { return bytes >= cpu_backend::last_level_cache(); }
};

}  // namespace

const Dialect& cpu_dialect() {
  static const CpuDialect dialect;
  return dialect;
}

}  // namespace damo
