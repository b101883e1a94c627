// What the texts of CUDA kernels that reduce stand on.
#pragma once
#include <string>

namespace damo {

/// load_again<N>(p): a vector that other blocks read too, which stays in the caches. exchanged(value, mask) and of_lane(value, lane): values of
/// other lanes of the warp, in words of 32 bits.
extern const char* const kCudaRows;
/// Of the blocks of a cluster (sm_90): arrive() and leave(), which wait for all of them, give(place, value, block), which writes to that block's
/// shared memory at the place that `place` has in one's own, and taken(place).
extern const char* const kCudaCluster;
/// stage(to, from): a vector or an element on its way into shared memory, which the thread may read behind wait_for_stages().
extern const char* const kCudaStages;
/// divide(x, divisor(y)): x / y to the last bit, for a y that divides many. In float. divide_to_half: within 2 ulp, for what is rounded to 16 bits.
extern const char* const kCudaDivide;

}  // namespace damo
