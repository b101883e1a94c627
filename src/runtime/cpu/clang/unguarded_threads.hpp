// int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x); if (i + 3 < n) { y[i] = ...; ... y[i + 3] = ...; }: several elements
// a thread. Under a guard that each thread asks, neighbouring fours are no vectors. But where one thread passes such
// guards, all before it in the row do: those get a loop without guards, and the rest of the row a plain one behind it.
#pragma once

namespace llvm {
class Function;
}

namespace damo::clang_plugin {

/// Parts loops over threadIdx.x at the last thread that passes all guards whose index grows by 2 or more from thread to
/// thread. After guarded_threads.hpp and the changes of loops, before markers are lowered.
void part_unguarded_threads(llvm::Function& entry);

}  // namespace damo::clang_plugin
