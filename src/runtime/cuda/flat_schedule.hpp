// How a generated CUDA kernel shares out a flat tile: arrays that are turned along an axis of few places, of which one kind lies with all of a position's places side by side, as a picture's colours, and the
// other a plane for each place. A warp has a run of neighbouring positions with all their places. What lies side by side it moves through shared memory as the one piece of memory that it is, a thread then has
// `vector` neighbouring positions, `units` times, with all their places, and of each plane it reads or writes a vector. So all that follows from an element's place is known to the compiler, and what
// follows from its position is computed once a vector. The text is flat_emitter.cpp's.
//
// Layout::access of such a layout (Layout::places): kTransposed lies side by side, kRow in planes, kRepeat in one plane for all places, kSteady has one element for all positions, kStrided lies anyhow and is read
// element by element. Layout::vector: elements to which all that is moved in vectors lies aligned, if pointers do; Layout::items: units.
#pragma once
#include "runtime/kernel/dialect.hpp"
#include "runtime/kernel/layout.hpp"
#include "runtime/kernel/spec.hpp"

namespace damo {

/// The layout of a tile whose arrays allow it, else as it was.
Layout lay_flat(const KernelSpec& spec, Layout layout, const Geometry& geometry);

/// Axes of a layout with Layout::places.
inline int places_axis(const Layout& layout) { return layout.tile_other > 0 ? layout.tile_axis : layout.rank - 1; }
inline int positions_axis(const Layout& layout) { return layout.tile_other > 0 ? layout.rank - 1 : layout.tile_axis; }

struct CudaFlat {
  int vector = 1;  ///< neighbouring positions of a thread
  int units = 1;   ///< such vectors of a thread, a warp's apart

  int positions() const { return 32 * vector * units; }  ///< of a warp
};

CudaFlat cuda_flat(const KernelSpec& spec, const Layout& layout);
/// Warps of a block.
int flat_warps(const KernelSpec& spec, const Layout& layout);
Work flat_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);
/// Elements that one access of a parameter moves, of arrays that are aligned.
int flat_width(const KernelSpec& spec, const Layout& layout, int parameter);
/// Bytes of a warp's run of a parameter in shared memory; 0: it does not go through it.
int flat_bytes(const KernelSpec& spec, const Layout& layout, int parameter);
/// Whether a run has a gap behind each line of the banks: else the places of neighbouring threads would lie in the same ones.
bool flat_has_gaps(const KernelSpec& spec, const Layout& layout, int parameter);

}  // namespace damo
