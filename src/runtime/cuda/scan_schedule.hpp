// How a generated CUDA kernel that scans shares rows out: from the spec, the number and length of rows, and the GPU. Bytes on their way are what counts, as of kernels that reduce
// (reducing_schedule.hpp).
//
// A scan holds 16 registers' worth of a row a thread, of columns 32, where that holds the row or there is little of it. Else a block that has read
// waits for what stands before its tile, so others must hold more than while they read; and the tiles' values, of which each column has one a tile, are
// memory traffic too. Inputs then wait in shared memory (Layout::staged), 64 KB of a block and three blocks resident, and elements are joined twice, before and
// after looking back: a thread's registers hold one value for each vector of a row, or each of its columns. Where what is joined is dear, or a user's
// text, they wait in 64 registers of a thread, with two blocks resident.
#pragma once
#include "runtime/kernel/dialect.hpp"

namespace damo {

inline constexpr int kColumnRadix = 8;   ///< tiles of a column whose values are joined into one of the next level; of a row 32 (scan_emitter.hpp)
inline constexpr int kMostColumnLevels = 11;  ///< of so many tiles each: a ticket has 32 bits
inline constexpr int kTicketWords = 16;  ///< of 64 bits, before the states of a scan: a line of the cache for the ticket
inline constexpr int kSectorWords = 4;   ///< of a sector of the cache, likewise

/// The layout with all that says how rows are shared out.
Layout share_cuda_scan(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors);
/// Words of 64 bits that a tile's value of the join takes where other blocks look for it: of rows whole sectors.
int state_words(const Join& join, bool rows);
Work scan_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry);

}  // namespace damo
