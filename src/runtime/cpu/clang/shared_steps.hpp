// for (k = 0; k < n; ++k) sum += a[y * n + k] * b[k * n + x];
// All threads of a row go through such a loop step by step alike. Run thread by thread it is scalar and jumps through
// memory; run as one step of all threads, then the next, it is contiguous and vectorises. Sums are kept in an array.
// Needs what isolated_steps.hpp does, and that all threads of the row, or none, get to the loop and go through it equally often:
// by what is computed in front of the row without memory.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Lets such loops change places with the loops over threadIdx.x that they stand in. Leaves alone what would then not read
/// neighbours, and loops of few steps, which are unrolled. After inlining and bound_threads, before markers are lowered.
void interchange_shared_steps(llvm::Function& entry);

}  // namespace damo::clang_plugin
