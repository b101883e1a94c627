// if (i < n) { ... }, i being blockIdx.x * blockDim.x + threadIdx.x, or threadIdx.x: what most kernels begin with.
// Asked by every thread, it masks every load and store. Asked once a row of threads, it is where their loop ends.
#pragma once

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace damo::clang_plugin {

/// What an index that is never negative, begun at base, is compared with: bound - base as 64 bits, -1 where that is less,
/// the greatest 32-bit index where it is more. Such an index passes base + index < bound if it is less than this.
llvm::Value* distance_to(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, llvm::Value* base);

/// Begins and ends the loops over threadIdx.x where guards say so, if entry's threads do nothing else where they fail:
/// if (x > 0 && x < width - 1 && y < height). After inlining, before markers are lowered.
void bound_threads(llvm::Function& entry);

}  // namespace damo::clang_plugin
