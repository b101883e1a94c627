// How a generated CUDA kernel shares out short rows of which each thread has whole ones: runs of rows that lie one behind the other, and rows in pieces. When that is better,
// and what it was measured against, is told in docs/performance.md, "How a GPU's rows are shared out"; the text is reducing_runs.cpp's.
#pragma once
#include <vector>

#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kThreadsOfRuns = 128;  ///< of a block whose threads have whole rows of a run: they share nothing beyond a warp

/// Short rows as runs; false, and the layout as it was, where that is not better.
bool share_runs(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors);
/// Short rows of several pieces, of which neighbouring rows have neighbouring ones, as windows of an image do: a thread's vector is a piece, or a part of one. False as above.
bool share_pieces(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors);
/// Short rows that begin anywhere and do not lie one behind the other, as those of arrays that are stretched against each other (pairs of points) do not: a thread reads the elements of one where they lie. False as above.
bool share_elements(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors);
/// Where each array of a run of rows lies in its warp's part of shared memory, in bytes; -1: elsewhere. An output has the place of an input of its dtype, each of whose
/// rows is in registers before anything is written to it.
std::vector<int> places_of_run(const KernelSpec& spec, const Layout& layout);
/// Of such a part.
int run_bytes(const KernelSpec& spec, const Layout& layout);
/// Elements to which arrays of runs must be aligned for vectors of kVectorBytes, whichever is the narrowest.
int width_of_runs(const KernelSpec& spec, const Layout& layout);

}  // namespace damo
