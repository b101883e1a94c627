// Blocks that stand side by side along x, run as one: where a kernel knows its x only as blockIdx.x * blockDim.x +
// threadIdx.x, nothing tells where one block ends and the next begins. The loop over threadIdx.x then runs over all of
// them, and a block of 16 x 16 threads costs no more than one of 256. blockIdx.x stays the first one's.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// True where threads are independent, whatever their order is, and none asks for its place in the block. After inlining,
/// before anything is moved.
bool can_join_blocks(llvm::Function& entry);

/// Answers the markers __damo_row_threads: rows of joined blocks have this many threads at most, or those of one block. None:
/// blocks are not joined.
void limit_rows(llvm::Function& function, unsigned threads);

}  // namespace damo::clang_plugin
