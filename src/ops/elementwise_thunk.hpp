// The thunk of a generated elementwise kernel, of one op or a fused group.
#pragma once
#include <damo/op.hpp>
#include "runtime/kernel/spec.hpp"

namespace damo {

/// spec: made by lower for this node. Works out shapes and strides when they change; otherwise passes pointers and launches.
/// reduced_axes: of the space to which inputs and outputs broadcast, where the spec reduces.
Thunk elementwise_thunk(KernelSpec spec, const Apply& node, ThunkContext& context, std::uint32_t reduced_axes = 0);

}  // namespace damo
