// Blocks that stand side by side along x, run as one: where a kernel knows its x only as blockIdx.x * blockDim.x +
// threadIdx.x, nothing tells where one block ends and the next begins. The loop over threadIdx.x then runs over all of
// them, and a block of 16 x 16 threads costs no more than one of 256. blockIdx.x stays the first one's.
// Needs: no shared memory, static or asked for at the launch, of which each block has its own; no use of blockIdx.x or
// threadIdx.x but in that sum; nothing that orders threads (orders_threads), and no call that reports a block.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// True where that is so. After inlining and place_shared_variables, before anything is moved.
bool can_join_blocks(llvm::Function& entry);

/// Answers the markers __damo_row_threads: rows of joined blocks have this many threads at most, or those of one block. None:
/// blocks are not joined.
void limit_rows(llvm::Function& function, unsigned threads);

}  // namespace damo::clang_plugin
