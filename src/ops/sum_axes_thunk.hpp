// The thunk of SumAxesOp.
#pragma once
#include <cstdint>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// axes: of the node's input, in order. The output holds the sums in C order of the other axes.
Thunk sum_axes_thunk(const std::vector<std::int64_t>& axes, const Apply& node, ThunkContext& context);

}  // namespace damo
