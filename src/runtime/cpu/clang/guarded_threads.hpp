// if (i < n) { ... } or if (4 * i + 3 < n) { ... }, i being blockIdx.x * blockDim.x + threadIdx.x, or threadIdx.x: what most
// kernels begin with. Asked by every thread, it masks every load and store. Asked once a row of threads, it is where their
// loop ends.
// Needs: what is compared grows with threadIdx.x by a constant, and does not wrap (known of a plain index, asked once a row
// of others); the bound is the same for all threads of the row and computed without memory; nothing that anybody could notice
// is done before, or by those that fail.
#pragma once

namespace llvm {
class Function;
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace damo::clang_plugin {

/// How many of the numbers first, first + step, ... are less than bound, or equal: 64 bits, at most the greatest 32-bit index.
llvm::Value* count_below(llvm::IRBuilderBase& builder, llvm::Value* bound, bool is_signed, bool counts_equal, llvm::Value* first, long step = 1);

/// Begins and ends the loops over threadIdx.x where guards say so, if entry's threads do nothing else where they fail:
/// if (x > 0 && x < width - 1 && y < height). After inlining, before markers are lowered.
void bound_threads(llvm::Function& entry);

}  // namespace damo::clang_plugin
