// Rows of very few threads: what pays off by running many side by side costs where there are none.
#pragma once

namespace llvm {
class Loop;
}

namespace damo::clang_plugin {

/// Keeps a copy of the loop over threadIdx.x as it is, one thread after the other, for rows of fewer than five threads. The
/// loop itself may then be changed; its blocks stay what they are. Nothing may be computed in it that is used after it.
void keep_for_few_threads(llvm::Loop& threads);

}  // namespace damo::clang_plugin
