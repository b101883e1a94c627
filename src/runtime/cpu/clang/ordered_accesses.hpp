// What one thread does one after the other in memory that may be the same. LLVM's vectoriser gathers accesses with gaps
// (y[2 * i], y[2 * i + 1]) into groups, loads at the first and stores at the last of them. In a loop that is declared
// parallel it takes for granted that nothing between them touches the same memory, also not of the same thread.
#pragma once

namespace llvm {
class Loop;
}

namespace damo::clang_plugin {

/// True if in the loop over threadIdx.x, as it is or with its inner loops unrolled, an access of a thread that may become part
/// of a group follows a store, or such a store is followed by an access, which may be to the same place.
bool has_ordered_groups(const llvm::Loop& threads);

}  // namespace damo::clang_plugin
