// A thread's own arrays and structures that did not become plain values. One that a single region uses, afresh each time,
// stays as it is; others get a place for each thread.
#pragma once
#include <map>

#include "regions.hpp"
#include "thread_loop.hpp"

namespace damo::clang_plugin {

void split_local_arrays(ThreadProgram& program, Regions& regions, ThreadMemory& memory, const std::map<Region*, ThreadLoop>& loops);

}  // namespace damo::clang_plugin
