// Blocks, or clusters, that stay: each goes over every n-th row, and while it computes one the next are on their way to shared memory. For kernels that write elements, of rows that no block holds, of 16-bit
// floats that one block alone would hold, and of rows with so much beside them that all rows share that a cache does not keep it. Blocks have 512 threads: they meet
// sooner than 1,024, and a row leaves fewer of their registers empty. Of one array of 16-bit floats whose row a cluster of 1,024 threads a block holds without a gap they have those, which hide its longer instructions,
// and of rows with steady arrays, since a thread of 16 vectors would hold 16 elements of each of these, too;
// of rows of two arrays of 16-bit floats whose threads meet often two or one a multiprocessor stay, where their row is not held by fewer threads.
//
// Which arrays such a block reads, and how:
//   ahead    those that lie along a row as one stretch of memory, one or two of them (arrays_ahead): rows of several reduced axes too, whatever the other arrays are like (Layout::unbroken)
//   shared   those that all rows share (Access::kEveryRow): a block's part of them is the same for each of its rows, and lies in shared memory from the first row on (arrays_shared). Read for each row they would
//            come from the second-level cache, whose bytes are then three for each two of a row of a layer norm. A cluster has so many blocks that their parts fit
//   steady   those of which many elements of a row have one (Access::kSteady): they are loaded where they lie
// With any other array a kernel does not stay. Rows that begin anywhere are taken apart where each of them begins, so that no part of what rows share is the same: these do not stay with shared ones.
//
// A kernel that joins across rows stays likewise (stay_across), by blocks of fewer threads with more registers, which hold what the rows add up to from row to row, and what all rows share, too. Where they have no
// room for both, what rows share lies in shared memory, and then as many of the joins across rows as must (joins_shared): their values are a thread's own, so nobody waits for them. A cluster of two
// serves instead of one block where registers of two hold everything.
// What was measured: docs/performance.md, "How a GPU's rows are shared out".
#pragma once
#include <cstddef>
#include <vector>

#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kLineBytes = 128;                  ///< of the cache: a row of blocks that stay, where it begins anywhere, is read and written in whole ones
inline constexpr std::size_t kMostArraysAhead = 2;      ///< of blocks that stay
inline constexpr std::int64_t kRowsToStay = 8;          ///< of each cluster, or tiles: of fewer the last ones leave multiprocessors idle for too long
inline constexpr int kMostAhead = 2;                    ///< rows, or tiles
inline constexpr std::size_t kSharedOfMeetings = 2048;  ///< bytes, of what threads and blocks give each other, beside the rows ahead

/// Of shared memory of a block that reads ahead: one row's part, as its threads read it.
std::size_t ahead_bytes(const KernelSpec& spec, const Layout& layout);
/// Whether rows of the array are one stretch of memory, whatever the number of reduced axes.
inline bool lies_along_row(const Layout& layout, int parameter) { return layout.form == Form::kRows && (layout.reduced_rank == 1 || layout.is_unbroken(parameter)); }
/// The inputs of which rows are read ahead: those that lie along a row, or of tiles along its neighbours, but for what the last pass alone reads.
std::vector<int> arrays_ahead(const KernelSpec& spec, const Layout& layout);
/// Inputs that all rows share, of a block that stays: its part of them, which is the same for each of its rows, lies in shared memory from the first row on. Rows that begin anywhere have no such part.
std::vector<int> arrays_shared(const KernelSpec& spec, const Layout& layout);
/// Accumulators of joins across rows whose values lie in the shared memory of a block that stays, since its threads have no registers for them: the last ones.
std::vector<int> joins_shared(const KernelSpec& spec, const Layout& layout);
/// What both take of it.
std::size_t shared_bytes_of_rows(const KernelSpec& spec, const Layout& layout);
/// Whether vectors of some of the arrays are pieces of a row that take more instructions to ask for than they spare.
bool are_small(const KernelSpec& spec, const Layout& layout, const std::vector<int>& arrays);
/// A longer row's block, or cluster, as one that stays, where that is better.
void stay(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors);
/// A block that joins across rows as one that reads ahead, or as a cluster of such blocks, where that is better.
void stay_across(const KernelSpec& spec, Layout& layout, const Geometry& geometry, const Processors& processors);

}  // namespace damo
