// One atomic a warp; the order of the results is free, so their sum and number are checked.
//: array int32 src[2000] = integers(-100, 100)
//: array int32 dst[2000]
//: array int32 nres[1]
//: array int32 total[1]
//: launch filter_k<<<8, 256>>>(dst, nres, src, 2000)
//: launch total_k<<<1, 1>>>(dst, nres, total)
//: check nres
//: check total
#include <cooperative_groups.h>
using namespace cooperative_groups;
__device__ int atomicAggInc(int *ctr) {
    auto g = coalesced_threads();
    int warp_res;
    if (g.thread_rank() == 0)
        warp_res = atomicAdd(ctr, g.size());
    return g.shfl(warp_res, 0) + g.thread_rank();
}
__global__ void filter_k(int *dst, int *nres, const int *src, int n) {
    int i = threadIdx.x + blockIdx.x * blockDim.x;
    if (i >= n) return;
    if (src[i] > 0)
        dst[atomicAggInc(nres)] = src[i];
}
__global__ void total_k(const int* dst, const int* nres, int* total) { for (int i = 0; i < *nres; ++i) *total += dst[i]; }
