// What Options::nan_guard adds to a graph, and how the op is found that made a value which is not finite.
//
// Who stores a floating result or new value looks at it: fused kernels, joined ones, and ops that would be kernels alone, which are fused with nothing (KernelSpec::guarded). What is a
// view of all elements is looked at where they are stored. What no generated kernel stores, products of libraries, results of loops, parts of a tensor, inputs, is read again by a FiniteGuardOp, the last
// result of the graph then. This comes behind all passes, which do what they would do without it. Either way the fault flag of the running Function is set (runtime/exec/fault_flag.hpp).
#pragma once
#include <span>

#include <damo/function.hpp>
#include "ops/rewrites/fusion_record.hpp"

namespace damo {

/// Of a graph that was rewritten and has no guard yet. The record follows what becomes another node.
void attach_guard(FunctionGraph& graph, FusionRecord& fusion);
/// The results but for the guard's own.
int users_results(const FunctionGraph& graph);

/// Runs the nodes that the graph's kernels are made of, one kernel each, on these inputs and the shared variables' present values, and tells of the first
/// that makes such a value of finite ones.
NotFiniteError not_finite(const FunctionGraph& graph, std::span<const Array> inputs, Device device);

}  // namespace damo
