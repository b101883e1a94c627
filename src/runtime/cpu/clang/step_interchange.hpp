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
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Lets such loops change places. Leaves alone what would then not read neighbours but carry values, and loops of few shared
/// steps, which are unrolled. After inlining and bound_threads, before markers are lowered. Gives whether it changed anything.
bool interchange_steps(llvm::Function& entry);

}  // namespace damo::clang_plugin
