// What is done to the loops over threadIdx.x of a kernel without barriers, before they are declared parallel, each in the file of
// its own that is named here.
#pragma once
#include <optional>

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace damo::clang_plugin {

// ---- guarded_threads.cpp -------------------------------------------------------------------------------------------------
// if (i < n) { ... } or if (4 * i + 3 < n) { ... }, i being blockIdx.x * blockDim.x + threadIdx.x, or threadIdx.x: what most
// kernels begin with. Asked by every thread, it masks every load and store. Asked once a row of threads, it is where their
// loop ends.
// Needs: what is compared grows with threadIdx.x by a constant, and does not wrap (known of a plain index, asked once a row
// of others); the bound is the same for all threads of the row and computed without memory; nothing that anybody could notice
// is done before, or by those that fail.

/// How many of the numbers first, first + step, ... are less than bound, or equal: 64 bits, at most the greatest 32-bit index.
llvm::Value* count_below(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, bool counts_equal, llvm::Value* first, long step = 1);

/// Begins and ends the loops over threadIdx.x where guards say so, if entry's threads do nothing else where they fail:
/// if (x > 0 && x < width - 1 && y < height). After inlining, before markers are lowered.
void bound_threads(llvm::Function& entry);

// ---- step_interchange.cpp ------------------------------------------------------------------------------------------------
// Loops of a kernel that change places with the loop over threadIdx.x that they stand in: one step of all threads of the row, then
// the next step. Run thread by thread such a loop jumps through memory; step by step it is contiguous and vectorises.
// - Shared steps: for (k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x]; all threads of the row, or none, get to the loop
//   and go through it equally often, by what is computed in front of the row without memory.
// - Strided steps: for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x), or of one block,
//   for (i = threadIdx.x; i < n; i += blockDim.x), n being the same for the row. Thread 0 has the least i: once it has no step to
//   do, nobody has. A thread does its step if the i that it begins with is less than n minus the distance gone, so nothing wraps.
// Each needs what isolated_steps.hpp does, and cuts the loop out with it: sums go to arrays.
// The i of a strided step is said not to wrap as a signed number where the text says so, or where only threads use it that have
// passed i < n, both signed and of i's own width. (long)i < n says nothing of an unsigned i.

/// Lets such loops change places. Leaves alone what would then not read neighbours but carry values, and loops of few shared
/// steps, which are unrolled. After inlining and bound_threads, before markers are lowered. Gives whether it changed anything.
bool interchange_steps(llvm::Function& entry);

// ---- block_rows.cpp ------------------------------------------------------------------------------------------------------
// Blocks that stand side by side along x, run as one: where a kernel knows its x only as blockIdx.x * blockDim.x +
// threadIdx.x, nothing tells where one block ends and the next begins. The loop over threadIdx.x then runs over all of
// them, and a block of 16 x 16 threads costs no more than one of 256. blockIdx.x stays the first one's.
// A text that says blockIdx.x * 16 + threadIdx.x means the same in blocks of 16, and is asked once for a number of blocks
// whether they are: in others each block is a row of its own. No second copy is made, as one loop is right for both.
// Needs: no shared memory, static or asked for at the launch, of which each block has its own; no use of blockIdx.x or
// threadIdx.x but in that sum, with the same number of threads in all of them; nothing that orders threads (orders_threads),
// and no call that reports a block. Sums of joined blocks don't wrap: the launcher refuses 2^31 threads along an axis.

/// How many threads along x blocks must have to be joined, 0 where that does not matter; nothing where they can't be.
/// After inlining and place_shared_variables, before anything is moved.
std::optional<unsigned> size_of_joined_blocks(llvm::Function& entry);

/// Answers the markers __damo_row_threads: rows of joined blocks have this many threads at most, or those of one block. None:
/// blocks are not joined. They are in launches of blocks of size threads along x, or in any if size is 0.
void limit_rows(llvm::Function& function, unsigned threads, unsigned size);

}  // namespace damo::clang_plugin
