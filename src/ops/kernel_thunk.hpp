// The thunk of generated kernels: of an elementwise op, of a reduction, or of a fused group of both.
#pragma once
#include <memory>
#include <vector>

#include <damo/op.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// spec: made by lower for this node. Works out shapes and strides when they change; otherwise passes pointers and launches.
/// reduced_axes: of the space to which inputs and outputs broadcast, where the spec reduces. A fused group is one kernel where
/// that serves; few long rows that are gone through more than once are a kernel a pass.
Thunk kernel_thunk(KernelSpec spec, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes = 0);
/// Of nodes that differ in their numbers alone, and share spec: one kernel serves them.
Thunk kernel_thunk(std::shared_ptr<const KernelSpec> spec, std::vector<Scalar> numbers, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes);

}  // namespace damo
