// What Options::nan_guard adds to a graph, and how the op is found that made a value which is not finite.
#pragma once
#include <span>

#include <damo/function.hpp>

namespace damo {

/// bool, rank 0: the last result of a guarded Function's graph, which looks at nothing yet: passes do what they would do without it.
Variable guard_of(SourceLine where);
/// Makes the last result of a graph that was rewritten, guard_of's, tell whether any floating result or new value is NaN or infinite.
void attach_guard(FunctionGraph& graph);

/// Runs the nodes that the graph's kernels are made of, one kernel each, on these inputs and the shared variables' present values, and tells of the first
/// that makes such a value of finite ones.
NotFiniteError not_finite(const FunctionGraph& graph, std::span<const Array> inputs, Device device);

}  // namespace damo
