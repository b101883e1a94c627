// for (i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) { ... }
// for (i = threadIdx.x; i < n; i += blockDim.x) { ... }
// Run thread by thread, such a loop jumps through memory by the whole grid or block at each step. Where threads are in no order
// the loops may change places: one step of all threads of the block, then the next step. That is contiguous and vectorises.
// Needs: nothing that orders threads, a header without effects that is the one way out (are_steps_free), and either nothing of
// memory around the loop, which is then done again each step, or what isolated_steps.hpp needs.
// begin + gone is said not to wrap as a signed number where the text says so of i, or where only threads use it that have
// passed i < n, both signed and of i's own width: begin + gone is n at most. (long)i < n says nothing of an unsigned i.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Changes places where it is plainly right; leaves entry alone where the kernel leaves the loop early. Sums that it carries
/// from step to step, and what it does before and after the loop, are cut off first (isolated_steps.hpp), if neighbours read
/// and write neighbours. Runs after inlining, before markers are lowered. Gives whether it changed anything.
bool interchange_grid_stride(llvm::Function& entry);

}  // namespace damo::clang_plugin
