// Blocks that stand side by side along x, run as one: where a kernel knows its x only as blockIdx.x * blockDim.x +
// threadIdx.x, nothing tells where one block ends and the next begins. The loop over threadIdx.x then runs over all of
// them, and a block of 16 x 16 threads costs no more than one of 256. blockIdx.x stays the first one's.
#pragma once

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace damo::clang_plugin {

/// Answers the entry's marker __damo_joins_blocks: true where threads are independent, whatever their order is, and none
/// asks for its place in the block. After inlining, before markers are lowered.
void join_blocks(llvm::Function& entry);

/// Answers what is left of that marker: no.
void keep_blocks_apart(llvm::Module& module);

}  // namespace damo::clang_plugin
