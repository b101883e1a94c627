// The thunk of a loop: one kernel for all steps (loop_kernel.hpp), or a Context of its own, which is called once a step.
#pragma once
#include <damo/thunk.hpp>
#include "ops/loop/loop_op.hpp"

namespace damo {

/// Rows are views of the node's arrays: steps write where the rows belong and read where they lie. Rows that the node does not give are in a ring of as many as
/// the lags need, or in the kernel's registers. Work of a loop whose count follows from shapes goes to the device without a wait.
Thunk loop_thunk(const LoopOp& loop, const Apply& node, ThunkContext& context);

}  // namespace damo
