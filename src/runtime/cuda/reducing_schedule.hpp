// How a generated CUDA kernel that reduces shares rows out: from the spec, the number and length of rows, and the GPU. share_cuda_rows() takes the first of these forms that serves; why each is as it
// is, and what it was measured against, is told in docs/performance.md, "How a GPU's rows are shared out".
//
// Columns, whose neighbours in memory belong to neighbouring rows:
//   held by a block       8 lanes of a block of 256 hold a column in 32 registers each, or 16 of 16-bit floats
//   held as tiles         (Layout::beside) by blocks whose neighbouring threads have neighbouring vectors of columns, by clusters that stay, or by clusters a tile where those are worth their meetings (tile_schedule.hpp)
//   read again            each pass reads them; a kernel a pass (prefers_cuda_passes) where blocks of columns are fewer than two a multiprocessor
// Rows, whose neighbours in memory are joined:
//   runs of short rows    that lie one behind the other: a warp moves those of its threads through shared memory, a thread has whole ones (run_schedule.hpp)
//   pieces of short rows  of several axes, whose neighbours' pieces are neighbours: a row a thread, which reads them where they lie
//   elements of them      where short rows begin anywhere and lie otherwise: likewise
//   rows in pieces        short ones beside those of the next rows: held as tiles, as columns are; where one pass joins them read by threads that have neighbouring rows
//   held                  by lanes of a warp, by a block, by a cluster of blocks, in 16 or 32 registers' worth a thread (hold_rows), of longer rows and of three words an element in as many as a thread has
//                         (row_holders.hpp). The compiler is told how many blocks are to be resident
//   that stay             blocks, or clusters, that go over the rows in turn with the next ones on their way to shared memory (staying_rows.hpp), for rows that no block holds, or that one alone holds and
//                         waits for: of 16-bit floats (of two arrays of them also rows that two such blocks hold), and where what all rows share is more than a cache has room for
//   read again            each pass reads them; a kernel a pass where rows are so few that multiprocessors would wait for the last of them
// Joins across rows       blocks go over rows in turn and hold a value for each place of a row, in shared memory, or in registers where they read ahead, in clusters where no block holds a row so (stay_across). Where that does not fit, or no block
//                         holds a row, they are a kernel of their own (split_passes.hpp)
// Prefix joins            beside joins of rows: of rows that one block holds without staying, or lanes of a warp, or a thread as a run. Others are split (split_passes.hpp)
// One reading less        of rows that are read again: means and variances (moments.hpp), maxima and sums of exponentials (exponential_sums.hpp) (prefers_one_cuda_reading)
// Groups                  of rows that are not held joins that can (Join::append_group) take what a thread reads at a time at once, with as many blocks resident as have enough on their way, and half the lanes where they would have one
//                         vector each
// Chunks                  reductions of one pass hold nothing, and are cut into chunks, which a second launch joins: for as many blocks as the compiler is told to be resident, of groups and of columns of 16-bit floats that
//                         need more registers than four blocks leave; else for 32 blocks a multiprocessor, or 8 or 4 of columns with which little is done. Rows enough for three blocks a multiprocessor are not cut
//
// DAMO_CUDA_ROWS=lanes,items,cluster,residents replaces what is not 0 in it, and leaves blocks that read ahead out where lanes, cluster or residents are given, and whole rows of
// a thread where anything is: for measuring.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kResidentThreads = 1024;  ///< that hold rows

inline constexpr int kLanesOfFinish = 32;  ///< that join the chunks of a column, at least

inline constexpr int kAcrossColumns = 8, kAcrossLanes = 32;  ///< of a block that joins what blocks have of places: neighbours, and threads of each

/// Vectors that a thread's partial value takes, of rows that are not held, before it is joined with others: the error of a sum grows slowly. As many whether a
/// thread reads 1, 2, 4 or 8 of them at a time, so that this does not change what is added to what.
constexpr int vectors_of_a_sum(const Layout& layout) { return 128 / layout.items * layout.items; }

/// Vectors that a thread reads at a time, of rows that are not held, and appends to a join's partial value at once, where all of them are the row's (Join::append_group); 1: it appends one after the other.
inline int vectors_of_a_group(const Join& join, const Layout& layout) { return layout.whole || join.append_group.empty() ? 1 : layout.items; }

/// Threads of a block.
int reducing_block(const Layout& layout);
/// Of the kernel that joins what the chunks of a row give: of columns each thread has one, and more threads share one than in the kernel before, as the chunks of few columns are many.
Layout finish_layout(Layout layout);
/// The layout with all that says how rows are shared out.
Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors);
/// Whether a block a row leaves multiprocessors idle for longer than a launch more a pass takes.
bool prefers_cuda_passes(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
/// Whether the spec's form that goes through rows once less (moments.hpp, exponential_sums.hpp) is faster than the spec.
bool prefers_one_cuda_reading(const KernelSpec& spec, const KernelSpec& form, const Geometry& geometry, const Processors& processors);
/// Whether one kernel goes through the rows and joins across them.
bool joins_cuda_across(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
/// Whether one kernel joins the rows and makes their prefix joins.
bool scans_cuda_rows(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

}  // namespace damo
