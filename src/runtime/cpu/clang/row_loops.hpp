// What is done to the loops over threadIdx.x, before they are declared parallel, each in the file of its own that is named here.
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

/// The names of local variables that the threads of a block share begin so.
inline constexpr const char* kBlockVariable = "damo.block";

/// How many of the numbers first, first + step, ... are less than bound, or equal: 64 bits, at most the greatest 32-bit index.
llvm::Value* count_below(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, bool counts_equal, llvm::Value* first, long step = 1);

/// Begins and ends the loops over threadIdx.x where guards say so, if entry's threads do nothing else where they fail:
/// if (x > 0 && x < width - 1 && y < height). After inlining, before markers are lowered.
void bound_threads(llvm::Function& entry);

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

/// The most threads that joined blocks may have where each of them has a place in memory.
inline constexpr unsigned kMostRowThreads = 4096;

/// Answers the markers __damo_by_rows: are rows run one by one, so that what limits their threads is asked of each of them?
void answer_by_rows(llvm::Function& function, bool answer);

/// Answers the markers __damo_row_threads: rows of joined blocks, or these as a whole, have this many threads at most, or those of one
/// block. None: blocks are not joined. They are in launches of blocks of size threads along x, or in any if size is 0.
void limit_rows(llvm::Function& function, unsigned threads, unsigned size);

}  // namespace damo::clang_plugin
