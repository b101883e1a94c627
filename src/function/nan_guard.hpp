// What Options::nan_guard adds to a graph, and how the op is found that made a value which is not finite.
#pragma once
#include <span>
#include <vector>

#include <damo/function.hpp>

namespace damo {

/// bool, rank 0: whether any value of the floating results and new values is NaN or infinite.
Variable guard_of(std::span<const Variable> results, std::span<const Assignment> updates);

/// Runs the nodes that the graph's kernels are made of, one kernel each, on these inputs and the shared variables' present values, and tells of the first
/// that makes such a value of finite ones.
NotFiniteError not_finite(const FunctionGraph& graph, std::span<const Array> inputs, Device device);

}  // namespace damo
