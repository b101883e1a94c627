// Between two waits the threads of a block are independent, so the vectoriser need not check that they are.
#pragma once
#include "regions.hpp"
#include "thread_loop.hpp"

namespace damo::clang_plugin {

/// Tells the vectoriser of region's loop, where it is so, and keeps it from unrolling, which costs more than it brings.
void declare_threads_independent(const Region& region, const ThreadLoop& loop);

}  // namespace damo::clang_plugin
