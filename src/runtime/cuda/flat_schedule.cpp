#include "runtime/cuda/flat_schedule.hpp"

#include <algorithm>

#include "graph/base/environment.hpp"
#include "runtime/cuda/schedule.hpp"

namespace damo {
namespace {

constexpr int kFlatBytesInFlight = 48;  // of reads a thread
constexpr int kFlatElements = 24;       // of a thread: where its run lies takes some 60 instructions
constexpr int kMostElements = 64;       // of a unit: where they are turned as bytes each is a register for a while
constexpr int kMostUnits = 8;
constexpr int kFlatWarps = 8;
constexpr int kFlatShared = 48 * 1024;         // that a kernel may declare
constexpr int kFlatSharedOfBlock = 24 * 1024;  // where blocks can be smaller: several share a multiprocessor
constexpr int kFlatCost = 8192;                // of all elements of a thread: the caches of instructions hold that
constexpr int kFlatRegisters = 96;             // that what it reads and writes of one unit may take
constexpr int kBanks = 128;                    // bytes of shared memory that lie in different banks

bool moves(Access access) { return access == Access::kRow || access == Access::kTransposed || access == Access::kRepeat; }
Access access_of(const Layout& layout, int parameter) { return layout.access[static_cast<std::size_t>(parameter)]; }

/// How an array lies that has these strides.
Access lies(std::int64_t along_positions, std::int64_t along_places, std::int64_t places) {
  if (along_positions == 1) return along_places == 0 ? Access::kRepeat : Access::kRow;
  if (along_places == 1 && along_positions == places) return Access::kTransposed;
  return along_positions == 0 ? Access::kSteady : Access::kStrided;
}

/// Whether vectors of so many elements begin where they are aligned, if the array does.
bool is_aligned(const Layout& layout, const Geometry& geometry, int parameter, int width) {
  const Access access = access_of(layout, parameter);
  for (int axis = 0; axis < layout.rank; ++axis) {
    if (axis == positions_axis(layout) || (axis == places_axis(layout) && access == Access::kTransposed)) continue;
    if (geometry.strides[static_cast<std::size_t>(parameter)][axis] % width != 0) return false;
  }
  return true;
}

/// Bytes that the elements of a unit take in registers, those that all units hold at once included.
int bytes_held(const KernelSpec& spec, const Layout& layout, int vector, int units) {
  int bytes = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    const int each = std::max(spec.element_bytes(i), 1);
    switch (access_of(layout, i)) {
      case Access::kRow: bytes += spec.is_output(i) ? vector * each : units * vector * layout.places * each; break;
      case Access::kTransposed: bytes += vector * layout.places * each; break;
      case Access::kRepeat: bytes += units * vector * each; break;
      case Access::kSteady: bytes += layout.places * std::max(each, 4); break;
      default: break;
    }
  }
  return bytes;
}

int bytes_read(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i = 0; i < spec.input_count(); ++i) {
    if (moves(access_of(layout, i))) bytes += (access_of(layout, i) == Access::kRepeat ? 1 : layout.places) * spec.element_bytes(i);
  }
  return bytes;
}

int widest_moved(const KernelSpec& spec, const Layout& layout) {
  int widest = 1;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (moves(access_of(layout, i))) widest = std::max(widest, spec.element_bytes(i));
  }
  return widest;
}

int bytes_of_warp(const KernelSpec& spec, const Layout& layout) {
  int bytes = 0;
  for (int i = 0; i < spec.parameter_count(); ++i) bytes += flat_bytes(spec, layout, i);
  return bytes;
}

/// Units so that each lane has whole vectors of every run.
int least_units(const KernelSpec& spec, const Layout& layout) {
  int units = 1;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    if (access_of(layout, i) == Access::kTransposed) units = std::max(units, flat_width(spec, layout, i) / cuda_flat(spec, layout).vector);
  }
  return units;
}

/// Whether a thread can hold and a warp's memory has room for the units of the layout.
bool has_room(const KernelSpec& spec, const Layout& layout) {
  const CudaFlat flat = cuda_flat(spec, layout);
  const int elements = flat.vector * layout.places;
  return elements <= kMostElements && bytes_held(spec, layout, flat.vector, flat.units) <= 4 * kFlatRegisters && elements * flat.units * std::max(spec.cost(), 1) <= kFlatCost && bytes_of_warp(spec, layout) <= kFlatShared;
}

}  // namespace

int flat_width(const KernelSpec& spec, const Layout& layout, int parameter) { return std::min(layout.vector, kVectorBytes / std::max(spec.element_bytes(parameter), 1)); }

int flat_bytes(const KernelSpec& spec, const Layout& layout, int parameter) {
  if (access_of(layout, parameter) != Access::kTransposed) return 0;
  const CudaFlat flat = cuda_flat(spec, layout);
  const int bytes = flat.positions() * layout.places * spec.element_bytes(parameter);
  return (flat_has_gaps(spec, layout, parameter) ? bytes + divide_up(bytes, kBanks) * kVectorBytes : divide_up(bytes, kVectorBytes) * kVectorBytes);
}

bool flat_has_gaps(const KernelSpec& spec, const Layout& layout, int parameter) {
  return cuda_flat(spec, layout).vector * layout.places * spec.element_bytes(parameter) % (2 * kVectorBytes) == 0;
}

CudaFlat cuda_flat(const KernelSpec& spec, const Layout& layout) { return {.vector = std::min(layout.vector, kVectorBytes / widest_moved(spec, layout)), .units = layout.items}; }

int flat_warps(const KernelSpec& spec, const Layout& layout) {
  int warps = kFlatWarps;
  while (warps > 1 && warps * bytes_of_warp(spec, layout) > kFlatSharedOfBlock) warps /= 2;
  return warps;
}

Work flat_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry) {
  const std::int64_t positions = geometry.extents[positions_axis(layout)], runs = divide_up(positions, cuda_flat(spec, layout).positions());
  const std::int64_t outer = geometry.count / std::max<std::int64_t>(positions * layout.places, 1);
  const int warps = flat_warps(spec, layout);
  Work work = one_launch({{divide_up(outer * runs, warps)}, {32 * warps}});
  work.chunks = runs;
  return work;
}

Layout lay_flat(const KernelSpec& spec, Layout layout, const Geometry& geometry) {
  if (layout.tile_inner + layout.tile_other == 0 || spec.loop || !environment("DAMO_CUDA_TILE").empty()) return layout;
  Layout flat = layout;
  flat.places = static_cast<int>(geometry.extents[places_axis(layout)]);
  const std::int64_t positions = geometry.extents[positions_axis(layout)];
  int narrowest = kVectorBytes;
  bool is_turned = false;
  for (int i = 0; i < spec.parameter_count(); ++i) {
    Access& access = flat.access[static_cast<std::size_t>(i)];
    if (is_scalar(access)) continue;
    const Strides& strides = geometry.strides[static_cast<std::size_t>(i)];
    access = spec.is_ordinals(i) ? Access::kStrided : lies(strides[positions_axis(layout)], strides[places_axis(layout)], flat.places);
    is_turned |= access == Access::kTransposed;
    if (moves(access)) narrowest = std::min(narrowest, spec.element_bytes(i));
  }
  if (!is_turned) return layout;
  const auto fits = [&](int vector) {
    flat.vector = vector;
    for (int i = 0; i < spec.parameter_count(); ++i) {
      if (moves(access_of(flat, i)) && !is_aligned(flat, geometry, i, flat_width(spec, flat, i))) return false;
    }
    flat.items = 1;
    flat.items = least_units(spec, flat);
    return positions % vector == 0 && has_room(spec, flat);
  };
  int vector = kVectorBytes / narrowest;
  while (vector > 1 && !fits(vector)) vector /= 2;
  if (!fits(vector)) return layout;
  const int read = bytes_read(spec, flat);
  for (;;) {
    const CudaFlat now = cuda_flat(spec, flat);
    const bool is_enough = now.vector * now.units * read >= kFlatBytesInFlight && now.vector * now.units * flat.places >= kFlatElements;
    if (is_enough || now.units * 2 > kMostUnits || now.positions() >= positions) break;
    Layout more = flat;
    more.items *= 2;
    if (!has_room(spec, more) || bytes_of_warp(spec, more) * kFlatWarps > kFlatSharedOfBlock) break;
    flat = more;
  }
  return flat;
}

}  // namespace damo
