// Sums over axes, for gradients of what broadcast.
#pragma once
#include <damo/error.hpp>
#include <damo/variable.hpp>

namespace damo {

/// g summed until it has the rank of a Variable of these dims that was broadcast to g's: over the leading axes that
/// dims lacks, and, keeping them, over the axes where dims has the extent 1 and g has not. g itself if there are none.
/// g: any floating dtype, any strides, at least dims.rank() axes. float16 and bfloat16 are added in float32; of long
/// sums each thread adds 512 elements, then their sums are added in the same way. Reads size(g), writes size(result).
Variable sum_to(const Variable& g, const Shape& dims, SourceLine where);

}  // namespace damo
