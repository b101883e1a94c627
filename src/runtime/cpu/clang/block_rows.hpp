// Blocks that stand side by side along x, run as one: where a kernel knows its x only as blockIdx.x * blockDim.x +
// threadIdx.x, nothing tells where one block ends and the next begins. The loop over threadIdx.x then runs over all of
// them, and a block of 16 x 16 threads costs no more than one of 256. blockIdx.x stays the first one's.
// A text that says blockIdx.x * 16 + threadIdx.x means the same in blocks of 16, and is asked once for a number of blocks
// whether they are: in others each block is a row of its own. No second copy is made, as one loop is right for both.
// Needs: no shared memory, static or asked for at the launch, of which each block has its own; no use of blockIdx.x or
// threadIdx.x but in that sum, with the same number of threads in all of them; nothing that orders threads (orders_threads),
// and no call that reports a block. Sums of joined blocks don't wrap: the launcher refuses 2^31 threads along an axis.
#pragma once
#include <optional>

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// How many threads along x blocks must have to be joined, 0 where that does not matter; nothing where they can't be.
/// After inlining and place_shared_variables, before anything is moved.
std::optional<unsigned> size_of_joined_blocks(llvm::Function& entry);

/// Answers the markers __damo_row_threads: rows of joined blocks have this many threads at most, or those of one block. None:
/// blocks are not joined. They are in launches of blocks of size threads along x, or in any if size is 0.
void limit_rows(llvm::Function& function, unsigned threads, unsigned size);

}  // namespace damo::clang_plugin
