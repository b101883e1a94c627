// The thunk of SumAxesOp.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <damo/op.hpp>

namespace damo {

/// The kernels' CUDA C for elements of a floating dtype, with so many axes (at least 1 each) that stay and that are
/// summed.
std::string sum_axes_source(DType dtype, int kept, int reduced);
/// The name of the kernel that reads elements or sums of one dtype and writes another's: an instance of a template.
std::string sum_axes_kernel(DType from, DType to);

/// axes: of the node's input, in order. The output holds the sums in C order of the other axes.
Thunk sum_axes_thunk(const std::vector<std::int64_t>& axes, const Apply& node, ThunkContext& context);

}  // namespace damo
