// Kernels that know how many threads their blocks have: blockIdx.x * 16 + threadIdx.x, 16 being a macro, a constexpr or a
// template argument. Launched in blocks of 16 they mean blockIdx.x * blockDim.x + threadIdx.x, and are compiled a second time
// as that: rows of threads, bounds and vectors then come about as for any other kernel. In other blocks they mean what they say.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// A copy of entry for blocks of as many threads along x as its index takes them to have, to which entry's blocks can be
/// joined; entry becomes a function of another name, and a new one of its name chooses between both by the launch's block
/// size. Null, and nothing changes, where entry has no such index or its blocks can't be joined. After inlining, before
/// anything is moved.
llvm::Function* add_known_block_size(llvm::Function& entry);

}  // namespace damo::clang_plugin
