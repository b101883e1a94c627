// How a generated CUDA kernel that reduces shares rows out: from the spec, the number and length of rows, and the GPU.
//
// A kernel is as fast as memory where enough bytes are on their way: 48 KB for each multiprocessor of an H200. A block that holds its rows
// reads for about a third of its time and computes and writes for the rest, so blocks that hold three times as much should be resident:
//
//   elements of a thread  at most kWordsHeld registers' worth: with 24 for itself a thread then has at most 64, so that 1,024
//                         threads with 128 KB of a row are resident, in blocks that compute and wait at different times
//   lanes                 as few as hold a row so: what is done once a thread (addresses, shuffles, barriers) is done for most elements
//   cluster               blocks that share a row where 512 lanes do not hold it, and read each other's values (sm_90): a row of
//                         1,024 lanes leaves one block a multiprocessor, which waits for itself
//   past that             each pass reads the row again
//
// Column reductions and those of one pass hold nothing: 32 bytes a thread are on their way at a time.
// DAMO_CUDA_ROWS=lanes,items,cluster,residents replaces what is not 0 in it: for measuring.
#pragma once
#include <cstdint>

#include "runtime/kernel/dialect.hpp"

namespace damo {

/// Threads of a block.
int reducing_block(const Layout& layout);
/// The layout with all that says how rows are shared out.
Layout share_cuda_rows(const KernelSpec& spec, Layout layout, const Geometry& geometry, const Processors& processors);
/// Whether a block a row leaves multiprocessors idle for longer than a launch more a pass takes.
bool prefers_cuda_passes(const KernelSpec& spec, const Geometry& geometry, const Processors& processors);
Work reducing_cuda_work(const KernelSpec& spec, const Layout& layout, const Geometry& geometry, const Processors& processors);

}  // namespace damo
